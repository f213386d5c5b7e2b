"""Mlp_peer: the same step of training in PyTorch. As a program, it takes one step and prints the loss."""

import torch
from torch import nn

from tests.bench import mlp


def trainer(sizes=mlp.SIZES):
    """A function that takes one step and returns the loss."""
    features, hidden, classes, _ = sizes
    (x, labels), weights = mlp.numbers(sizes)
    net = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, classes))
    with torch.no_grad():
        for parameter, weight in zip(net.parameters(), weights, strict=True):
            parameter.copy_(torch.tensor(weight))
    sgd = torch.optim.SGD(net.parameters(), lr=mlp.RATE)
    x, labels = torch.tensor(x), torch.tensor(labels)

    def step():
        loss = nn.functional.cross_entropy(net(x), labels)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return loss

    return step


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(trainer()().item())
