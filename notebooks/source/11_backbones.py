# %% [markdown]
# # 11 Backbones, pretrained weights, sequences
#
# *An hour and a half. Do [02](02_meta_operators.ipynb) and [10](10_training.ipynb) first.*
#
# Few people train a large network from nothing. They take one that is known, the *backbone*, load weights that others
# have trained, put a small *head* on top, and train only that. In this notebook you do all of it. You build the block
# that most backbones are made of, read a stranger's weights, fold one layer into another, and teach a trained network a
# new question with ten images. At the end the places of a photograph look at each other: that is attention.
#
# As always: **predict**, **run**, **look**. There are five exercises; each check says *right*, or what is wrong.
#
# ## 1. Two photographs go through a backbone
#
# ResNet-18 reads an image in five stages. `conv1` halves height and width, and a pooling after it halves them again.
# `layer1` keeps them; `layer2`, `layer3` and `layer4` halve them once each, and double the number of channels. Two
# photographs come with scikit-learn. They are made smaller here, 96 by 128 pixels.
#
# The weights are *untrained*: random numbers from a seed. `jt.models.resnet18(pretrained=True)` has trained ones. It
# looks for their file (47 MB) on this machine and, if it is not there, downloads it. If it cannot, its error says which
# file to put into which folder. In class there may be no network, so nothing below needs that file.
#
# **Predict.** How high and wide are the channels of `layer4`? And up to which stage will you recognize the photograph
# in its channels? Put a list of two numbers in place of the dots: height and width, in pixels.

# %%
import copy
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.data import digits
from jt_edu.models.resnet import BasicBlock
from jt_edu.utils.pytorch_converter import convert
from jt_exercises import YourTurn, backbones, predict
from jt_exercises.timing import ratio

jt.set_global_seed(0)
photos = backbones.photographs()  # {"china": (96, 128, 3), "flower": (96, 128, 3)}, bytes
pixels = np.stack(list(photos.values())).transpose(0, 3, 1, 2) / 255  # (2, 3, 96, 128)
mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])  # of the images that ResNet was made for
inputs = jt.array(((pixels - mean[:, None, None]) / std[:, None, None]).astype(np.float32))

backbone, maps = jt.models.resnet18().eval(), {}
for stage in ("conv1", "layer1", "layer2", "layer3", "layer4"):
    getattr(backbone, stage).register_forward_hook(lambda _, came, out, stage=stage: maps.update({stage: out}))
scores = backbone(inputs)
predict("11.1b", ..., lambda: maps["layer4"].shape[2:])
print("scores:", scores.shape)

backbones.browse(
    {
        name: {"photo": photo, **{stage: found[k].numpy() for stage, found in maps.items()}}
        for k, (name, photo) in enumerate(photos.items())
    }
)

# %% [markdown]
# **Look.** Choose a stage, then a channel; yellow is its largest number, dark blue its smallest. Even random weights
# find edges and colours, and the roofs are still there in `layer1`. Further on each number has seen a larger part of
# the image, and there are fewer places to say where it was. Training does not change these sizes. It changes what each
# channel responds to.
# %% exercise 11.1

# %% [markdown]
# ## 3. What the way around is good for
#
# Take forty layers of 32 units each, one after the other. One stack is *plain*: `h = relu(layer(h))`. In the other,
# each layer is the body of a residual block. The gradient has to come back through all of them.
#
# **Predict.** How large is the gradient of the first layer's weights, compared with that of the last layer's, in each
# of the two stacks?

# %%
x, layers = jt.randn(64, 32), [nn.Linear(32, 32) for _ in range(40)]
figure, axis = plt.subplots(figsize=(7, 3))
for name, block in {"plain": lambda h, f: f(h).relu(), "residual": lambda h, f: (f(h) + h).relu()}.items():
    h = x
    for layer in layers:
        h = block(h, layer)
    gradients = jt.grad((h * h).mean(), [layer.weight for layer in layers])
    jt.sync(gradients)  # all at once: one by one, each would compute the whole way again
    lengths = np.array([np.linalg.norm(g.numpy()) for g in gradients])
    print(f"{name:<10} the first layer's gradient is {lengths[0] / lengths[-1]:.1e} of the last layer's")
    axis.plot(range(1, 41), lengths / lengths[-1], label=name)
axis.set(yscale="log", xlabel="layer", title="length of the gradient, the last layer's = 1")
axis.legend()
plt.show()

# %% [markdown]
# **Look.** In the plain stack each layer shrinks the gradient by about the same factor, so that next to nothing reaches
# the first ones: they would not learn. On the way around there are no weights that could shrink it.
#
# ## 4. A network that somebody wrote for PyTorch
#
# Most backbones are published as PyTorch source. This module multiplies each channel of an image by a weight between 0
# and 1 that it computes from the means of all channels. `convert` rewrites the source, without running it. Below the
# result you can open each line that has changed. **Predict** which lines have to.

# %%
SOURCE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class SqueezeExcite(nn.Module):
    def __init__(self, channels, fewer=4):
        super().__init__()
        self.squeeze = nn.Linear(channels, channels // fewer)
        self.excite = nn.Linear(channels // fewer, channels)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1).view(x.size(0), x.size(1))
        s = torch.sigmoid(self.excite(F.relu(self.squeeze(s), inplace=True)))
        return x * s.view(x.size(0), -1, 1, 1)
"""
converted = convert(SOURCE)
exec(converted, space := {})  # noqa: S102 - it defines the class
print("runs:", maps["layer1"].shape, "->", space["SqueezeExcite"](64)(maps["layer1"]).shape)
converted

# %% [markdown]
# ## 5. A colleague's weights
#
# A colleague has trained a small residual network on the digits of notebook 10, and sends you the weights. The next
# cell does what she did, since there is no file without it. Her library has other names than ours. (`.safetensors` is a
# table of names and shapes, followed by numbers: there is nothing in it that could run. A `.pth` file of PyTorch can
# hold code; jt_edu reads its numbers and never runs it.)


# %%
class Reader(nn.Module):
    """(n, 1, 8, 8) -> (n, classes): a backbone with 32 features, and a head, `fc`."""

    def __init__(self, classes):
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.layer1, self.layer2 = BasicBlock(16, 16), BasicBlock(16, 32, stride=2)
        self.fc = nn.Linear(32, classes)

    def execute(self, x):
        x = self.bn1(self.conv1(x)).relu()
        return self.fc(self.layer2(self.layer1(x)).mean((2, 3)))


def learn(net, parameters, pictures, targets, steps, batch=64, lr=0.01):
    """Some steps of Adam, each smaller than the one before; the seconds they took."""
    optimizer, random, begin = optim.Adam(list(parameters), lr=lr), np.random.default_rng(0), time.process_time()
    for step in range(steps):
        optimizer.lr = lr * (1 - step / steps)
        some = random.integers(0, len(pictures), batch)
        optimizer.step(jt.cross_entropy_loss(net(jt.array(pictures[some])), jt.array(targets[some])))
    return time.process_time() - begin


def share(net, pictures, targets):
    """The share of pictures that are read correctly."""
    net.eval()
    return float((net(jt.array(pictures)).numpy().argmax(1) == targets).mean())


images, labels = (v.numpy() for v in next(iter(digits(batch_size=2000))))
unseen, answers = (v.numpy() for v in next(iter(digits(train=False, batch_size=2000))))
jt.set_global_seed(0)
colleague = Reader(10)
learn(colleague, colleague.parameters(), images, labels, steps=80)
print(f"her network reads {share(colleague, unseen, answers):.1%} of the digits that were held out")

file = Path(tempfile.mkdtemp()) / "hers.safetensors"
jt.save(backbones.foreign(colleague.state_dict()), file)
print(f"{file.name}, {file.stat().st_size / 1e3:.0f} kB")
for whose, names in {"hers": jt.load(file), "ours": Reader(10).state_dict()}.items():
    some = [n for n in names if "stage2.skip" in n or "downs" in n or "." not in n]
    print(f"{whose}:", *list(names)[:5], "...", *some, sep="\n    ")

# %% exercise 11.2
# %% [markdown]
# **Look.** `num_batches_tracked` only counts batches, and no score depends on it, so its absence does no harm. The
# head has another shape because it answers another question. Without these two,
# `net.load_state_dict(renamed, strict=False)` gives a network with four classes her whole backbone.
# %% exercise 11.3

# %%
with suppress(YourTurn):
    both = {"as trained": colleague.eval(), "folded": backbones.folded(colleague, fold)}  # noqa: F821
    pictures = jt.array(unseen)
    for name, net in both.items():
        with jt.trace() as t:
            net(pictures).sync()
        print(f"{name:<11} {len(t.built):>3} nodes, {len(t.kernels):>2} kernels")
    one, other = (net(pictures).numpy() for net in both.values())
    print(f"the scores differ by {abs(one - other).max():.0e} at most, of {abs(one).max():.0f}")
    print(f"{ratio(*[lambda net=net: net(pictures).sync() for net in both.values()]):.2f} times as fast")

# %% [markdown]
# **Look.** Rounding happens at other places now, so the last digits of the scores differ. Almost half of the operators
# are gone, and not one kernel: the framework computed each batch norm where the convolution before it stores its
# result. So there is little time left to save. Only a *trained* batch norm can be folded. During training it takes the
# mean and the variance of each new batch.
# %% exercise 11.4

# %%
few = np.array([np.flatnonzero(labels == digit)[0] for digit in range(10)])
tuned, fresh = copy.deepcopy(colleague), Reader(2)
with suppress(YourTurn):
    head = list(new_head(tuned, 2))  # noqa: F821
    for name, net, parameters in ("new head", tuned, head), ("from nothing", fresh, list(fresh.parameters())):
        seconds = learn(net, parameters, images[few], labels[few] % 2, steps=40, batch=10, lr=0.02)
        print(
            f"{name:<13}{sum(p.size for p in parameters):>7,} parameters, {seconds:.2f} s of CPU time, "
            f"{share(net, unseen, answers % 2):.0%} of the held-out digits"
        )

# %% [markdown]
# **Look.** Ten images are enough for a head, because the backbone has learned from 1,437 images what digits look like,
# though nobody told it about odd and even. A step is cheaper, too: no gradient goes back through the backbone.
#
# ## 9. Break it
#
# Somebody wants one backbone with two heads. A new head learns to tell 0 from 1; then the old head is put back. The
# cell shows that all weights are what they were. And yet the old network reads fewer digits than before. **Run** it,
# and find the line that is to blame.

# %%
both = copy.deepcopy(colleague)
before = share(both, unseen, answers)
both.requires_grad_(False)
both.fc = nn.Linear(32, 2)
both.train()
pair = labels < 2
learn(both, both.fc.parameters(), images[pair], labels[pair], steps=60, batch=20)
print(f"0 or 1: {share(both, unseen[answers < 2], answers[answers < 2]):.0%} of the held-out ones")

both.fc = colleague.fc
print(f"all ten digits: {before:.1%} before, {share(both, unseen, answers):.1%} now")
weights = zip(both.parameters(), colleague.parameters(), strict=True)
print("the weights are the same:", all(np.array_equal(a.numpy(), b.numpy()) for a, b in weights))

# %% [markdown]
# <details><summary>A hint</summary>
#
# `both.state_dict()` has more names than `both.named_parameters()`. Compare them all with those of `colleague`.
# </details>
#
# <details><summary>The answer</summary>
#
# `both.train()` puts all modules inside into training mode. There each batch norm takes its statistics from the batch,
# which holds nothing but zeros and ones, and remembers them. `requires_grad_(False)` does not stop that, since no
# gradient is involved. With `both.eval()` instead, the old network stays as it was. </details>
# %% exercise 11.5

# %% [markdown]
# ## 11. Two ways to read a sequence
#
# The cell below lets places of the photograph look at each other. The queries are the features of three places, and the
# keys are those of all places. **Predict.** Where does a place in the sky look?
#
# An LSTM reads one element after the other, and carries a *state* along, `c`. For each element `x`, with the output `h`
# for the element before:
#
#     i, f, o = sigmoid(...)    g = tanh(...)      of four linear layers of x and h
#     c = f * c + i * g                            forget a part, write a part
#     h = o * tanh(c)                              show a part
#
# The sum in the second line is a way around, as in a residual block, and it is there for the same reason.
#
# **Predict.** A digit is read as a sequence of its eight rows. Then row 3 is changed (the first one is row 0), and the
# digit is read again. Which of the eight outputs change with an LSTM? With attention? With causal attention? Put a list
# of the numbers of those that change with an LSTM in place of the dots.

# %%
features = maps["layer1"][0].flatten(1).T.numpy()  # (24 * 32 places, 64 channels)
places = jt.array((features - features.mean(0)) / features.std(0))
asked = {"sky": (3, 22), "roof": (10, 9), "trees": (20, 24)}  # row and column, of 24 by 32
with suppress(YourTurn):
    _, weights = attention(places[[32 * y + x for y, x in asked.values()]], places, places)  # noqa: F821
    figure, axes = plt.subplots(1, 4, figsize=(13, 2.8))
    axes[0].imshow(photos["china"])
    axes[0].axis("off")
    for axis, (name, (y, x)), row in zip(axes[1:], asked.items(), weights.numpy(), strict=True):
        axes[0].plot(4 * x, 4 * y, "o", color="#d55e00", markeredgecolor="white")
        axes[0].text(4 * x + 4, 4 * y - 4, name, fontsize=8, bbox={"facecolor": "white", "pad": 1})
        axis.imshow(np.log(row).reshape(24, 32), cmap="cividis")
        axis.axis("off")
        axis.set_title(f'where "{name}" looks (logarithm)', fontsize=10)
    plt.show()

rows = images[0, 0]  # (8 rows, 8 numbers)
changed = rows.copy()
changed[3] += 1
lstm = nn.LSTM(8, 8, batch_first=True)
readers = {
    "LSTM": lambda x: lstm(x[None])[0][0],
    "attention": lambda x: attention(x, x, x)[0],  # noqa: F821
    "causal attention": lambda x: attention(x, x, x, causal=True)[0],  # noqa: F821
}


def that_change(name):
    before, after = (readers[name](jt.array(digit)).numpy() for digit in (rows, changed))
    return np.flatnonzero(abs(after - before).max(1) > 1e-6)


predict("11.11", ..., lambda: that_change("LSTM"))
for name in readers:
    with suppress(YourTurn):
        found = that_change(name)
        print(f"{name:<17}", *["X" if k in found else "." for k in range(8)])

for length in (256, 512, 1024):
    q, k, v = (jt.randn(length, 64).sync() for _ in range(3))
    planned = jt.explain(jt.softmax(q @ k.T / 8, 1) @ v)
    weights, new = length**2 * 4 / 1e6, planned.predicted_peak / 1e6
    print(f"{length:>5} elements, weights {weights:.2f} MB, new arrays {new:.2f} MB\n    {planned.kernels[-1].reason}")
print(planned.kernels[-1].source)

# %% [markdown]
# **Look.** Nothing was trained here. A place looks at places whose features are like its own, since the dot product of
# two rows is large where they are alike. In a network, `q`, `k` and `v` are the features times three trained matrices,
# so it learns *what* to look for. `nn.MultiheadAttention` has such matrices, several times over, side by side.
#
# An `X` is an output that has changed. Neither an LSTM nor causal attention sees what comes later, so both can write a
# text word by word. An LSTM needs the output for one element before it can read the next: eight steps, one after the
# other. Attention treats all rows at once, in two products of matrices, but compares each with each: a sequence twice
# as long has four times as many weights.
#
# The weights of 1,024 elements are 4 MB, but as long as nobody asks to see them, no such array is made. The kernel that
# was printed takes 256 rows of `q` at a time. It multiplies them by all keys (`np.dot`), turns the scores into weights
# where they stand, multiplies those by the values, and goes on to the next rows. So only the answer is a new array, and
# each thread needs room for 256 rows of weights (`row0`): both grow with the length, and not with its square. (Up to
# 256 elements the one block is all there is.) The time does. The gradients need the weights too, so their kernel
# computes them again. FlashAttention does the same on a GPU, where even 256 rows would be too many.
#
# **Before you close this page**: you are given a backbone with trained weights, and a hundred labelled images from a
# hospital. What do you freeze, what do you train, and what do you check before you trust the first score?
