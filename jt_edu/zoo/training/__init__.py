"""training: what the programs `jt_edu.zoo.train` and `jt_edu.zoo.validate` are made of."""
