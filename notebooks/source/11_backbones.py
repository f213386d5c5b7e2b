# %% [markdown]
# # 11 Backbones, pretrained weights, sequences
#
# *An hour and a half. Do [02](02_meta_operators.ipynb) and [10](10_training.ipynb) first.*
#
# Few people train a large network from nothing. They take a known one, the *backbone*; they load weights that others
# have learned; they put a small *head* on top and train only that. In this notebook you do all of it: you build the
# block of which most backbones are made, read a stranger's weights, make a network cheaper without changing what it
# says, and teach an old network a new question with ten images. At the end the places of a photograph look at each
# other: that is attention.
#
# As always: **predict**, **run**, **look**. There are five exercises; each says *right* when it is, and why where it is
# not.

# %%
import copy
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.data import digits
from jt_edu.models.resnet import BasicBlock
from jt_edu.utils.pytorch_converter import convert
from jt_exercises import backbones as check
from jt_exercises.timing import ratio

jt.set_global_seed(0)

# %% [markdown]
# ## 1. Two photographs go through a backbone
#
# ResNet-18 reads an image in five stages. Each one halves height and width, except the second, and has more channels
# than the one before. Two photographs come with scikit-learn; they are made smaller here, 96 by 128 pixels.
#
# The weights are *untrained*: random numbers, the same ones on every machine. In class there may be no network to
# fetch trained ones. `jt.models.resnet18(pretrained=True)` looks for them in a folder of this machine, then tries to
# download them (47 MB), and where it cannot do either, its error says which file to put where. Everything below runs
# with them, too.
#
# **Predict.** How high and wide are the channels of the last stage, `layer4`? And in which stage can you no longer tell
# the photograph from its channels?


# %%
def small(photo):
    """The middle of a photograph, each 4 by 4 pixels made one: (427, 640, 3) -> (96, 128, 3)."""
    return photo[21:405, 64:576].reshape(96, 4, 128, 4, 3).mean((1, 3)).astype(np.uint8)


photos = {name: small(photo) for name, photo in zip(("china", "flower"), load_sample_images().images, strict=True)}
pixels = np.stack(list(photos.values())).transpose(0, 3, 1, 2) / 255  # (2, 3, 96, 128)
mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])  # of the images that ResNet was made for
inputs = jt.array(((pixels - mean[:, None, None]) / std[:, None, None]).astype(np.float32))

backbone, maps = jt.models.resnet18().eval(), {}
for stage in ("conv1", "layer1", "layer2", "layer3", "layer4"):
    getattr(backbone, stage).register_forward_hook(lambda _, came, out, stage=stage: maps.update({stage: out}))
scores = backbone(inputs)
print("scores:", scores.shape)

check.browse(
    {
        name: {"photo": photo, **{stage: found[k].numpy() for stage, found in maps.items()}}
        for k, (name, photo) in enumerate(photos.items())
    }
)

# %% [markdown]
# **Look.** Choose a stage, then a channel. Even random windows find edges and colours: the roofs are still there in
# `layer1`. Further up each number has seen more of the image and knows less about where. What training adds is *which*
# edges, and of what they are part; the shapes that you see here stay the same.
#
# ## 2. Exercise 1: the residual block
#
# All stages but the first are made of *blocks* that compute `relu(body(x) + x)`. What a block need not change goes
# around it. Where the body changes the shape, `x` has to change too: then the block has `around`, a small layer of its
# own, and computes `relu(body(x) + around(x))`.
#
# The body of a *bottleneck* has three convolutions: 1 by 1 from `inputs` to `channels`, 3 by 3 with as many, and 1 by 1
# to four times as many. Behind each stands a batch norm, and behind the first two of these a relu. The convolutions
# have no bias, since the batch norm would subtract it. Height and width stay, or are divided by `stride` in the 3 by 3.
#
# Write `residual`, and `bottleneck`, which returns the body as one `nn.Sequential`.
#
# <details><summary>A hint</summary> `around` is None where x itself is added: `x if around is None else around(x)`.
# </details>
# <details><summary>A second hint</summary> A 3 by 3 needs `padding=1` to keep height and width. Which of the three
# convolutions gets the stride? A 1 by 1 with stride 2 never looks at three quarters of the places. </details>
# <details><summary>Half of it</summary> `return nn.Sequential(nn.Conv2d(inputs, channels, 1, bias=False),
# nn.BatchNorm2d(channels), nn.ReLU(), ...)`, and so on twice more. </details>


# %%
def residual(x, body, around=None):
    """The block: relu of what the body makes of x, and x."""
    return None


def bottleneck(inputs, channels, stride=1):
    """The body of a bottleneck block: (n, inputs, h, w) -> (n, 4 * channels, h / stride, w / stride)."""
    return None


print(verdict := check.check_blocks(residual, bottleneck))
if verdict.passed:
    two = nn.Sequential(nn.Conv2d(256, 256, 3, padding=1), nn.Conv2d(256, 256, 3, padding=1))
    for name, body in {"two 3 by 3": two, "bottleneck": bottleneck(256, 64)}.items():
        print(f"{name:<12} 256 channels in and out, {sum(p.size for p in body.parameters()):>9,} parameters")

# %% [markdown]
# ## 3. What the way around is good for
#
# Forty layers, one behind the other, of 32 units each. One stack is *plain*: `h = relu(layer(h))`. In the other each
# layer is the body of a residual block. A gradient has to come back through all of them.
#
# **Predict.** How large is the gradient of the first layer's weights, compared with that of the last layer's, in each
# of the two?

# %%
x, layers = jt.randn(64, 32), [nn.Linear(32, 32) for _ in range(40)]
figure, axis = plt.subplots(figsize=(7, 3))
for name, block in {"plain": lambda h, f: f(h).relu(), "residual": lambda h, f: (f(h) + h).relu()}.items():
    h = x
    for layer in layers:
        h = block(h, layer)
    gradients = jt.grad((h * h).mean(), [layer.weight for layer in layers])
    lengths = np.array([np.linalg.norm(g.numpy()) for g in gradients])
    print(f"{name:<10} the first layer's gradient is {lengths[0] / lengths[-1]:.1e} of the last layer's")
    axis.plot(range(1, 41), lengths / lengths[-1], label=name)
axis.set(yscale="log", xlabel="layer", title="length of the gradient, the last layer's = 1")
axis.legend()
plt.show()

# %% [markdown]
# **Look.** In the plain stack hardly anything comes back: the first layers would not learn. The way around has no
# weights to shrink a gradient. (That of the residual stack may even be larger in front. Batch norm holds that down.)
#
# ## 4. A network that somebody wrote for PyTorch
#
# Backbones come as source first. This module weighs the channels of an image by what the whole image says of each. It
# is written for PyTorch. `convert` rewrites it, and does not run it; below the new source you can open each line that
# has changed. **Predict** which lines have to.

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
exec(converted, space := {})  # noqa: S102 - it defines the class of our own text
print("runs:", maps["layer1"].shape, "->", space["SqueezeExcite"](64)(maps["layer1"]).shape)
converted

# %% [markdown]
# ## 5. A colleague's weights
#
# A colleague has trained a small residual network on the digits of notebook 10 and sends a file. Here is what she did,
# so that you have the file; it takes some seconds. Her names are not ours: she has written her network with another
# library. (`.safetensors` is a table of names and shapes, followed by numbers. It cannot run code, whoever sent it.
# Nor does a `.pth` of PyTorch when jt_edu reads it.)


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
    """Some steps of Adam; the seconds they took."""
    optimizer, random, begin = optim.Adam(list(parameters), lr=lr), np.random.default_rng(0), time.process_time()
    for _ in range(steps):
        some = random.integers(0, len(pictures), batch)
        optimizer.step(jt.cross_entropy_loss(net(jt.array(pictures[some])), jt.array(targets[some])))
    return time.process_time() - begin


def share(net, pictures, targets):
    """The share of pictures that are read correctly."""
    net.eval()
    return float((net(jt.array(pictures)).numpy().argmax(1) == targets).mean())


images, labels = (v.numpy() for v in next(iter(digits(batch_size=2000))))
unseen, answers = (v.numpy() for v in next(iter(digits(train=False, batch_size=2000))))
colleague = Reader(10)
learn(colleague, colleague.parameters(), images, labels, steps=80)
print(f"her network reads {share(colleague, unseen, answers):.1%} of the digits that were held out")

file = Path(tempfile.mkdtemp()) / "hers.safetensors"
jt.save(check.foreign(colleague.state_dict()), file)
print(f"{file.name}, {file.stat().st_size / 1e3:.0f} kB")

# %% [markdown]
# ## 6. Exercise 2: whose name is that?
#
# The next cell prints her names and ours. Write `rename`, which says our name for one of hers and leaves alone what it
# does not know. And write `report`, which compares two tables, name → shape: what came, and what the network has. It
# returns three lists of names: those *missing* in the file, those *unexpected* in it, and those in both with *another
# shape*. The network below has four classes, hers had ten.
#
# **Predict** the three lists before you run it: what in the file can have no place in ours, and what of ours cannot be
# in the file?
#
# <details><summary>A hint</summary> A list of pairs, `("stage", "layer"), ("norm", "bn"), ...`, and
# `name = name.replace(old, new)` for each, in order. What of `stem.norm`, if `norm` comes first? </details>
# <details><summary>A second hint</summary> In a batch norm *gamma* is the weight, *beta* the bias. The way around,
# *skip*, is `downsample.0` (the convolution) and `downsample.1` (its batch norm) in ours. </details>
# <details><summary>Half of it</summary> `missing = [name for name in ours if name not in theirs]` </details>


# %%
def rename(name):
    return None


def report(theirs, ours):
    """(missing, unexpected, of another shape) of two dicts, name -> shape."""
    return None


state = jt.load(file)
print("hers:", *list(state)[:5], "...", *[name for name in state if "stage2.skip" in name or "." not in name])
print("ours:", *list(Reader(4).state_dict())[:5], "...", *[name for name in Reader(4).state_dict() if "downs" in name])
print()
print(verdict := check.check_report(rename, report))
if verdict.passed:
    net, renamed = Reader(4), {rename(name): value for name, value in state.items()}
    shapes = ({name: value.shape for name, value in some.items()} for some in (renamed, net.state_dict()))
    for what, names in zip(("missing", "unexpected", "of another shape"), report(*shapes), strict=True):
        print(f"    {what:<17}", *names)
    net.load_state_dict({name: value for name, value in renamed.items() if not name.startswith("fc")}, strict=False)
    print("the same backbone:", np.array_equal(net.layer2.conv2.weight.numpy(), colleague.layer2.conv2.weight.numpy()))

# %% [markdown]
# **Look.** Not all that is missing is missed. `num_batches_tracked` only counts batches; other libraries do not keep
# it, and no score depends on it. The head is of another shape because it answers another question. But *read* the
# lists: a weight that was not loaded is a random one, and nothing else will tell you.
#
# ## 7. Exercise 3: a batch norm that costs nothing
#
# A trained batch norm computes `(y - mean) / sqrt(var + eps) * gamma + beta`, with numbers that no longer change. The
# `y` comes from a convolution, which is a sum with weights. So there is another weight and another bias with which
# the convolution alone gives the same. Write `fold`, which returns the two. In jt_edu they are `bn.running_mean`,
# `bn.running_var`, `bn.eps`, `bn.weight` and `bn.bias`, one number for each channel that comes out, except `eps`.
#
# **Predict**: how many kernels fewer does her network need, and how many times as fast is it?
#
# <details><summary>A hint</summary> With `scale = gamma / sqrt(var + eps)`, the batch norm is
# `y * scale + (beta - mean * scale)`. </details>
# <details><summary>A second hint</summary> The convolution's weight has shape (out, in, kh, kw), and `scale` belongs to
# the first of these: `scale.reshape(-1, 1, 1, 1)`. And if the convolution has a bias, `conv.bias`? </details>
# <details><summary>Half of it</summary> `return conv.weight * scale.reshape(-1, 1, 1, 1), ...` </details>


# %%
def fold(conv, bn):
    """(weight, bias) of the convolution that does both."""
    return None


def folded(net):
    """A copy of a network in which each batch norm behind a convolution is folded into it."""
    net = copy.deepcopy(net).eval()
    for module in list(net.modules()):
        for conv, bn in (("conv1", "bn1"), ("conv2", "bn2"), ("0", "1")):
            if isinstance(getattr(module, bn, None), nn.BatchNorm2d):
                layer = getattr(module, conv)
                layer.weight, layer.bias = (jt.array(part).detach() for part in fold(layer, getattr(module, bn)))
                setattr(module, bn, nn.Identity())
    return net


print(verdict := check.check_fold(fold))
if verdict.passed:
    both = {"as trained": colleague.eval(), "folded": folded(colleague)}
    pictures = jt.array(unseen)
    for name, net in both.items():
        with jt.trace() as t:
            net(pictures).sync()
        print(f"{name:<11} {len(t.built):>3} nodes, {len(t.kernels):>2} kernels")
    one, other = (net(pictures).numpy() for net in both.values())
    print(f"the scores differ by {abs(one - other).max():.0e} at most, of {abs(one).max():.0f}")
    print(f"{ratio(*[lambda net=net: net(pictures).sync() for net in both.values()]):.2f} times as fast")

# %% [markdown]
# **Look.** The sums are rounded in another order, so the last digits differ; no digit is read otherwise. Only
# a *trained* batch norm folds. While it learns, its mean and its variance are those of each new batch.
#
# ## 8. Exercise 4: a new question, ten images
#
# The network can tell ten digits apart. Now it shall say whether a digit is odd, and has ten labelled images to learn
# that from, one of each digit. Write `new_head(net, classes)`. It freezes everything in `net`, puts a new `nn.Linear`
# in the place of `net.fc`, and returns the parameters that are to be trained. Nothing of the backbone may change,
# whether it is a weight or not.
#
# **Predict**: how many of the held-out digits does the new head get right? A network of the same kind that starts from
# nothing and learns as many steps from the same ten images?
#
# <details><summary>A hint</summary> `net.requires_grad_(False)` freezes the parameters that are there when you call
# it. So the new head comes after it. </details>
# <details><summary>A second hint</summary> What in a batch norm changes without a gradient, and in which mode does it
# not? </details>
# <details><summary>Half of it</summary> `net.fc = nn.Linear(net.fc.weight.shape[1], classes)` </details>


# %%
def new_head(net, classes):
    """Freeze net, give it a new head `fc`, and return the parameters to train."""
    return None


print(verdict := check.check_new_head(new_head))
if verdict.passed:
    few = np.array([np.flatnonzero(labels == digit)[0] for digit in range(10)])
    tuned, fresh = copy.deepcopy(colleague), Reader(2)
    head = list(new_head(tuned, 2))
    for name, net, parameters in ("new head", tuned, head), ("from nothing", fresh, list(fresh.parameters())):
        seconds = learn(net, parameters, images[few], labels[few] % 2, steps=40, batch=10, lr=0.02)
        print(
            f"{name:<13}{sum(p.size for p in parameters):>7,} parameters, {seconds:.2f} s of CPU time, "
            f"{share(net, unseen, answers % 2):.0%} of the held-out digits"
        )

# %% [markdown]
# **Look.** Ten images are enough for a head, since the backbone has learned from 1,437 images what digits look like.
# Nobody told it about odd and even. And a step is cheaper: no gradient goes back through the backbone.
#
# ## 9. Break it
#
# Somebody wants both: the old question and a new one, with one backbone. The head is changed, trained to tell 0 from 1,
# and the old head is put back. No weight of the backbone has changed, as the cell shows. And yet the old network reads
# far fewer digits than before. **Run** it and find the line.

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
# `both.train()` stands for all modules inside. So each batch norm took its statistics from batches that hold nothing
# but zeros and ones, and remembered them. `requires_grad_(False)` does not stop that, since it is no gradient. With
# `both.eval()` in its place the old network comes back as it was. Dropout, if there were any, would be off, too.
# </details>
#
# ## 10. Exercise 5: attention
#
# A backbone gives each place of an image a row of numbers. So an image is also a *sequence* of places, as a text is one
# of words. With *attention* each of them looks at all others. It asks with a *query*, a row of `q`. Each element offers
# a *key*, a row of `k`, and a *value*, a row of `v`. With d numbers in each query and key:
#
#     weights = softmax(q kᵀ / √d)        one row for each query; a row adds up to 1
#     out     = weights v                 for each query, a mean of the values
#
# With `causal=True` element i sees only the elements up to i, itself included: who writes a text does not know its end.
# Write `attention`, which returns `out` and `weights`. `jt.softmax(scores, dim)` is there.
#
# **Predict** the pictures. They ask with the features of three places in the photograph, and the keys are the features
# of all places. Where does a place in the sky look?
#
# <details><summary>A hint</summary> `k.transpose(0, 1)`, or `k.T`, turns (s, d) into (d, s). Which axis of the scores
# are the keys? </details>
# <details><summary>A second hint</summary> A weight becomes 0 if its score is -inf: e to that power is 0. The mask is
# `jt.array(np.tri(t, s)) > 0`, and `jt.where(mask, scores, -np.inf)` does the rest. </details>
# <details><summary>Half of it</summary> `scores = q @ k.T / np.sqrt(q.shape[1])` </details>


# %%
def attention(q, k, v, causal=False):
    """(out, weights) of q (t, d), k (s, d) and v (s, e)."""
    return None


print(verdict := check.check_attention(attention))
if verdict.passed:
    features = maps["layer1"][0].flatten(1).T.numpy()  # (24 * 32 places, 64 channels)
    places = jt.array((features - features.mean(0)) / features.std(0))
    asked = {"sky": (3, 28), "roof": (10, 9), "water": (20, 20)}  # row and column, of 24 by 32
    _, weights = attention(places[[32 * y + x for y, x in asked.values()]], places, places)
    figure, axes = plt.subplots(1, 4, figsize=(13, 2.8))
    axes[0].imshow(photos["china"])
    for axis, (name, (y, x)), row in zip(axes[1:], asked.items(), weights.numpy(), strict=True):
        axes[0].plot(4 * x, 4 * y, "o", color="#d55e00", markeredgecolor="white")
        axes[0].annotate(name, (4 * x + 3, 4 * y - 3), color="white")
        axis.imshow(np.log(row).reshape(24, 32), cmap="cividis")
        axis.set_title(f"where {name} looks (logarithm)", fontsize=10)
    for axis in axes:
        axis.axis("off")
    plt.show()

# %% [markdown]
# **Look.** Nobody trained anything here. Places with similar features find each other, and that is all that attention
# does. In a trained network `q`, `k` and `v` are the features times three learned matrices, so it learns *what* to look
# for. `nn.MultiheadAttention` has these matrices and does it several times side by side.
#
# ## 11. The other way to read a sequence
#
# An LSTM reads one element after the other and carries a *state* along, `c`. For each element `x`, with the output `h`
# of the element before:
#
#     i, f, o = sigmoid(...)    g = tanh(...)      each a linear layer of x and h
#     c = f * c + i * g                            forget a part, write a part
#     h = o * tanh(c)                              show a part
#
# The sum in `c` is a way around, as in a residual block: it is there for the same reason.
#
# **Predict.** A digit is read as a sequence of its eight rows, and row 3 is changed (the first is row 0). Which of the
# eight outputs change with an LSTM? With attention? With causal attention?

# %%
rows = images[0, 0]  # (8 rows, 8 numbers)
changed = rows.copy()
changed[3] += 1
lstm = nn.LSTM(8, 8, batch_first=True)
readers = {"LSTM": lambda x: lstm(x[None])[0][0]}
if verdict.passed:
    readers["attention"] = lambda x: attention(x, x, x)[0]
    readers["causal attention"] = lambda x: attention(x, x, x, causal=True)[0]
for name, read in readers.items():
    before, after = read(jt.array(rows)).numpy(), read(jt.array(changed)).numpy()
    print(f"{name:<17}", *["X" if abs(a - b).max() > 1e-6 else "." for a, b in zip(before, after, strict=True)])

# %% [markdown]
# **Look.** An LSTM and causal attention know only what came before, so both can write a text word by word. The LSTM
# needs the output of one element for the next: eight steps, one after the other. Attention does all rows in one product
# of matrices, but it compares each with each: for a sequence twice as long, four times as many weights.
#
# **Before you close this page**: you are given a backbone with `pretrained=True`, and a hundred images from a hospital.
# What do you freeze, what do you train, and what do you check before you trust the first score?
