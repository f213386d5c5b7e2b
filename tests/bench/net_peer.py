"""Net_peer: the same step of training in PyTorch. As a program, it takes one step and prints the loss."""

import sys

import torch
from torch import nn

from tests.bench.networks import NETWORKS, RATE, numbers


def trainer(name, *sizes, compiled=False):
    """A function that takes one step and returns the loss; `compiled`: with torch.compile for the network."""
    sizes = sizes or NETWORKS[name].sizes
    (x, wanted), weights = numbers(name, *sizes)
    net = NETWORKS[name].layers(nn, *sizes)
    net.load_state_dict({key: torch.tensor(w) for key, w in weights.items()})
    sgd = torch.optim.SGD(net.parameters(), lr=RATE)
    model = torch.compile(net) if compiled else net
    error = nn.functional.cross_entropy if wanted.dtype.kind == "i" else nn.functional.mse_loss
    x, wanted = torch.tensor(x), torch.tensor(wanted)

    def step():
        answer = model(x)
        loss = error(answer[0] if isinstance(answer, tuple) else answer, wanted)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return loss

    return step


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(trainer(sys.argv[1])().item())
