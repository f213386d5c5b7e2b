# %% [markdown]
# ## 2. Exercise 11.1: the residual block
#
# All stages but the first are made of *blocks* that compute `relu(body(x) + x)`. What a block need not change goes
# around it. If the body changes the shape, `x` has to change as well. Then the block has a small layer for that,
# `around`, and computes `relu(body(x) + around(x))`.
#
# The body of a *bottleneck* has three convolutions: 1 by 1 from `inputs` to `channels`, 3 by 3 from `channels` to
# `channels`, and 1 by 1 to `4 * channels`. Each is followed by a batch norm, and the first two batch norms by a relu.
# The convolutions have no bias, since the batch norm would subtract it. The 3 by 3 divides height and width by
# `stride`; the others keep them.
#
# Write `residual`, and `bottleneck`, which returns the body as one `nn.Sequential`.

# %%
from jt_edu import nn
from jt_exercises import YourTurn, check, hint, solution


def residual(x, body, around=None):
    """The block: relu of what the body makes of x, and x."""
    # BEGIN SOLUTION return the relu of the sum
    y = body(x)
    y = y + (x if around is None else around(x))
    return y.relu()
    # END SOLUTION


def bottleneck(inputs, channels, stride=1):
    """The body of a bottleneck block: (n, inputs, h, w) -> (n, 4 * channels, h / stride, w / stride)."""
    # BEGIN SOLUTION return an nn.Sequential of eight layers
    return nn.Sequential(
        nn.Conv2d(inputs, channels, 1, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.Conv2d(channels, 4 * channels, 1, bias=False),
        nn.BatchNorm2d(4 * channels),
    )
    # END SOLUTION


check("11.1", residual, bottleneck)
