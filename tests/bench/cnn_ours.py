"""Cnn_ours: a step of training in jt_edu. As a program, it takes one step and prints the loss."""

import jt_edu as jt
from jt_edu import nn, optim
from tests.bench import cnn


def trainer(sizes=cnn.SIZES, compiled=False):
    """A function that takes one step and returns the loss."""
    (images, labels), weights = cnn.numbers(*sizes)
    net = nn.Sequential(*cnn.layers(nn, sizes[0]))
    net.load_state_dict(weights)
    sgd = optim.SGD(net.parameters(), lr=cnn.RATE)

    def step(x, labels):
        loss = nn.cross_entropy_loss(net(x), labels)
        sgd.step(loss)
        return loss

    if compiled:
        step = jt.compile(step)
    x, labels = jt.array(images), jt.array(labels)
    return lambda: step(x, labels)


if __name__ == "__main__":
    print(trainer()().item())
