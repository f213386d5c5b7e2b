"""A training script: digits, a small CNN with batch norm, Adam. Not a line of it knows about ranks.

Tests run it alone, on simulated ranks and under mpirun, and compare what `train` answers.
"""

import numpy as np
from sklearn.datasets import load_digits

import jt_edu as jt
from jt_edu import nn, optim


def model():
    """Two convolutions, each followed by batch norm, and a layer that decides."""
    return nn.Sequential(
        nn.Conv(1, 4, 3, bias=False), nn.BatchNorm(4), nn.ReLU(),
        nn.Conv(4, 8, 3, stride=2, bias=False), nn.BatchNorm(8), nn.ReLU(), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


def train(rule="adam", dtype="float64", examples=90, batch_size=32, epochs=2, style="jittor", workers=0):
    """Train for some epochs; answers the losses, and all parameters and running statistics in the end."""
    jt.set_global_seed(5)
    images, labels = load_digits(return_X_y=True)
    images = (images[:examples].reshape(-1, 1, 8, 8) / 16).astype(dtype)
    data = jt.data.ArrayDataset(images, labels[:examples], batch_size=batch_size, shuffle=True, num_workers=workers)
    net = model().float64() if dtype == "float64" else model()
    optimizer = {
        "adam": lambda p: optim.Adam(p, lr=0.01),
        "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-3),
        "lbfgs": lambda p: optim.LBFGS(p, lr=0.5, max_iter=3, line_search_fn="strong_wolfe"),
    }[rule](net.parameters())
    losses = []
    for _ in range(epochs):
        for x, y in data:
            losses.append(STYLES[style](net, optimizer, x, y))
    state = {name: v.numpy() for name, v in net.state_dict().items()}
    return np.array(losses, "float64"), state


def loss_of(net, x, y):
    """The mean loss of a batch."""
    return nn.cross_entropy_loss(net(x), y)


def jittor(net, optimizer, x, y):
    """optimizer.step(loss)"""
    loss = loss_of(net, x, y)
    optimizer.step(loss)
    return loss.item()


def clipped(net, optimizer, x, y):
    """optimizer.backward(loss), twice, with the gradients clipped."""
    optimizer.zero_grad()
    for _ in range(2):
        loss = loss_of(net, x, y)
        optimizer.backward(loss)
    optimizer.clip_grad_norm(0.5)
    optimizer.step()
    return loss.item()


def pytorch(net, optimizer, x, y):
    """loss.backward(), whose loss is a rank's own."""
    optimizer.zero_grad()
    loss_of(net, x, y).backward()
    optimizer.clip_grad_norm(0.5)
    optimizer.step()
    return 0.0


def closure(net, optimizer, x, y):
    """optimizer.step(function)"""
    return optimizer.step(lambda: loss_of(net, x, y)).item() * 0


def compiled(net, optimizer, x, y):
    """jt.compile(step)"""
    if not hasattr(net, "compiled_step"):

        def step(x, y):
            loss = loss_of(net, x, y)
            optimizer.step(loss)
            return loss

        object.__setattr__(net, "compiled_step", jt.compile(step))
    return net.compiled_step(x, y).item()


STYLES = {f.__name__: f for f in (jittor, clipped, pytorch, closure, compiled)}
