"""Net_ours: a step of training in jt_edu. As a program, it takes one step of the network named, and prints the loss."""

import sys

import jt_edu as jt
from jt_edu import nn, optim
from tests.bench.networks import NETWORKS, RATE, numbers


def trainer(name, *sizes, compiled=False):
    """A function that takes one step and returns the loss."""
    sizes = sizes or NETWORKS[name].sizes
    (x, wanted), weights = numbers(name, *sizes)
    net = NETWORKS[name].layers(nn, *sizes)
    net.load_state_dict(weights)
    sgd = optim.SGD(net.parameters(), lr=RATE)
    error = nn.cross_entropy_loss if wanted.dtype.kind == "i" else nn.mse_loss

    def step(x, wanted):
        answer = net(x)
        loss = error(answer[0] if isinstance(answer, tuple) else answer, wanted)
        sgd.step(loss)
        return loss

    if compiled:
        step = jt.compile(step)
    x, wanted = jt.array(x), jt.array(wanted)
    return lambda: step(x, wanted)


if __name__ == "__main__":
    jt.flags.compile_processes = 1  # the CPU time of helpers would count for nobody
    print(trainer(sys.argv[1])().item())
