"""Networks of the zoo beside timm's."""

from jt_edu import zoo


def both_of(torch, timm, name, count):
    """Ours and theirs, without numbers: they have as many parameters, under the same names, and say the same sizes."""
    net = zoo.create_model(name)
    with torch.device("meta"):
        theirs = timm.create_model(name)
    assert sum(p.size for p in net.parameters()) == count
    found = [(key, tuple(value.shape)) for key, value in net.state_dict().items()]
    assert found == [(key, tuple(value.shape)) for key, value in theirs.state_dict().items()]  # in this order
    assert (net.num_features, net.head_hidden_size) == (theirs.num_features, theirs.head_hidden_size)
    return net, theirs
