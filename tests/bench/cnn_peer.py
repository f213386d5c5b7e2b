"""Cnn_peer: the same step of training in PyTorch. As a program, it takes one step and prints the loss."""

import torch
from torch import nn

from tests.bench import cnn


def trainer(sizes=cnn.SIZES, compiled=False):
    """A function that takes one step and returns the loss; `compiled`: with torch.compile for the network."""
    (images, labels), weights = cnn.numbers(*sizes)
    net = nn.Sequential(*cnn.layers(nn, sizes[0]))
    net.load_state_dict({name: torch.tensor(w) for name, w in weights.items()})
    sgd = torch.optim.SGD(net.parameters(), lr=cnn.RATE)
    model = torch.compile(net) if compiled else net
    x, labels = torch.tensor(images), torch.tensor(labels)

    def step():
        loss = nn.functional.cross_entropy(model(x), labels)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return loss

    return step


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(trainer()().item())
