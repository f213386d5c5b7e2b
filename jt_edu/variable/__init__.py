"""Variable: the Var that a learner holds, its operators, gradients and random numbers."""
