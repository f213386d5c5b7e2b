"""Mlp_ours: a step of training in jt_edu. As a program, it takes one step and prints the loss."""

import jt_edu as jt
from jt_edu import nn, optim
from tests.bench import mlp


def trainer(sizes=mlp.SIZES, compiled=False):
    """A function that takes one step and returns the loss."""
    features, hidden, classes, _ = sizes
    (x, labels), weights = mlp.numbers(sizes)
    net = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, classes))
    for parameter, weight in zip(net.parameters(), weights, strict=True):
        parameter.update(jt.array(weight))
    sgd = optim.SGD(net.parameters(), lr=mlp.RATE)

    def step(x, labels):
        loss = nn.cross_entropy_loss(net(x), labels)
        sgd.step(loss)
        return loss

    if compiled:
        step = jt.compile(step)
    x, labels = jt.array(x), jt.array(labels)
    return lambda: step(x, labels)


if __name__ == "__main__":
    print(trainer()().item())
