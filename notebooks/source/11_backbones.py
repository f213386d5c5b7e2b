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
# As always: **predict**, **run**, **look**. There are five exercises; each says *right* when it is, and why where it is
# not.

# %%
import copy
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

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
# ResNet-18 reads an image in five stages. `conv1` halves height and width, and a pooling after it halves them again.
# `layer1` keeps them; `layer2`, `layer3` and `layer4` halve them once each, and double the number of channels. Two
# photographs come with scikit-learn. They are made smaller here, 96 by 128 pixels.
#
# The weights are *untrained*: random numbers from a seed. `jt.models.resnet18(pretrained=True)` has trained ones. It
# looks for their file (47 MB) on this machine and, if it is not there, downloads it. If it cannot, its error says which
# file to put into which folder. In class there may be no network, so nothing below needs that file.
#
# **Predict.** How high and wide are the channels of `layer4`? And up to which stage will you recognize the photograph
# in its channels?

# %%
photos = check.photographs()  # {"china": (96, 128, 3), "flower": (96, 128, 3)}, bytes
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
# **Look.** Choose a stage, then a channel; yellow is its largest number, dark blue its smallest. Even random weights
# find edges and colours, and the roofs are still there in `layer1`. Further on each number has seen a larger part of
# the image, and there are fewer places to say where it was. Training does not change these sizes. It changes what each
# channel responds to.
#
# ## 2. Exercise 1: the residual block
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
jt.save(check.foreign(colleague.state_dict()), file)
print(f"{file.name}, {file.stat().st_size / 1e3:.0f} kB")

# %% [markdown]
# ## 6. Exercise 2: whose name is that?
#
# The next cell prints some of her names and of ours. Write `rename`, which returns our name for one of hers, and
# returns a name that it does not know as it is. Then write `report`. It takes two dicts, name → shape, of the file and
# of the network, and returns three lists of names: those *missing* from the file, those *unexpected* in it, and those
# in both whose *shape differs*. The network below has four classes, hers has ten.
#
# **Run** the cell as it is, look at the names, and **predict** the three lists: what does the file lack, what in it has
# no place in our network, and what has another shape?
#
# <details><summary>A hint</summary> Make a list of pairs, `("stage", "layer"), ("norm", "bn"), ...`, and call
# `name = name.replace(old, new)` for each, in order. What becomes of `stem.norm` if `norm` comes first? </details>
# <details><summary>A second hint</summary> The *gamma* of a batch norm is its weight, and *beta* its bias. What she
# calls `skip.conv` and `skip.norm` is `downsample.0` and `downsample.1` in ours. </details>
# <details><summary>Half of it</summary> `missing = [name for name in ours if name not in theirs]` </details>


# %%
def rename(name):
    return None


def report(theirs, ours):
    """(missing, unexpected, with another shape) of two dicts, name -> shape."""
    return None


state = jt.load(file)
print("hers:", *list(state)[:5], "...", *[name for name in state if "stage2.skip" in name or "." not in name])
print("ours:", *list(Reader(4).state_dict())[:5], "...", *[name for name in Reader(4).state_dict() if "downs" in name])
print()
print(verdict := check.check_report(rename, report))
if verdict.passed:
    net, renamed = Reader(4), {rename(name): value for name, value in state.items()}
    shapes = ({name: value.shape for name, value in some.items()} for some in (renamed, net.state_dict()))
    for what, names in zip(("missing", "unexpected", "with another shape"), report(*shapes), strict=True):
        print(f"    {what:<19}", *names)
    net.load_state_dict({name: value for name, value in renamed.items() if not name.startswith("fc")}, strict=False)
    print("the same backbone:", np.array_equal(net.layer2.conv2.weight.numpy(), colleague.layer2.conv2.weight.numpy()))

# %% [markdown]
# **Look.** `num_batches_tracked` only counts batches, and no score depends on it, so its absence does no harm. The
# head has another shape because it answers another question. But *read* these lists each time. With `strict=False` a
# weight that was not found keeps its random numbers, and no error tells you.
#
# ## 7. Exercise 3: a batch norm that costs nothing
#
# A trained batch norm computes `(y - mean) / sqrt(var + eps) * gamma + beta`, with numbers that no longer change. Its
# `y` is the result of a convolution, a weighted sum. So the convolution alone can give the same result, with another
# weight and another bias. Write `fold`, which returns these two. The numbers of the formula are `bn.running_mean`,
# `bn.running_var`, `bn.eps`, `bn.weight` and `bn.bias`; except for `eps` there is one for each channel that comes out.
# (`check.folded` copies a network, and calls your `fold` for each batch norm behind a convolution.)
#
# **Predict.** How many kernels fewer does her network need? And how many times as fast is it?
#
# <details><summary>A hint</summary> With `scale = gamma / sqrt(var + eps)`, the batch norm is
# `y * scale + (beta - mean * scale)`. </details>
# <details><summary>A second hint</summary> The convolution's weight has shape (out, in, kh, kw), and `scale` belongs to
# the first axis: `scale.reshape(-1, 1, 1, 1)`. What if the convolution has a bias, `conv.bias`? </details>
# <details><summary>Half of it</summary> `return conv.weight * scale.reshape(-1, 1, 1, 1), ...` </details>


# %%
def fold(conv, bn):
    """(weight, bias) with which the convolution does both."""
    return None


print(verdict := check.check_fold(fold))
if verdict.passed:
    both = {"as trained": colleague.eval(), "folded": check.folded(colleague, fold)}
    pictures = jt.array(unseen)
    for name, net in both.items():
        with jt.trace() as t:
            net(pictures).sync()
        print(f"{name:<11} {len(t.built):>3} nodes, {len(t.kernels):>2} kernels")
    one, other = (net(pictures).numpy() for net in both.values())
    print(f"the scores differ by {abs(one - other).max():.0e} at most, of {abs(one).max():.0f}")
    print(f"{ratio(*[lambda net=net: net(pictures).sync() for net in both.values()]):.2f} times as fast")

# %% [markdown]
# **Look.** Rounding happens at other places now, so the last digits of the scores differ. More than a third of the
# kernels are gone, and much less than a third of the time: they had little to do. Only a *trained* batch norm can be
# folded. During training it takes the mean and the variance of each new batch.
#
# ## 8. Exercise 4: a new question, ten images
#
# The network can tell ten digits apart. Now it has to say whether a digit is odd, and gets ten labelled images to learn
# that from, one of each digit. Write `new_head(net, classes)`. It freezes everything in `net`, puts a new `nn.Linear`
# in place of `net.fc`, and returns the parameters to train. In the backbone nothing may change, be it a weight or not.
#
# **Predict.** How many of the held-out digits does the new head get right? And how many does a network of the same kind
# that starts from nothing, and takes as many steps with the same ten images?
#
# <details><summary>A hint</summary> `net.requires_grad_(False)` freezes the parameters that `net` has when you call it.
# So make the new head after that. </details>
# <details><summary>A second hint</summary> What in a batch norm changes without a gradient? In which mode does it stay
# as it is? </details>
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
#
# ## 10. Exercise 5: attention
#
# A backbone turns each place of an image into a row of numbers. So an image is also a *sequence* of places, as a text
# is one of words. With *attention* each element of a sequence looks at all elements. It asks with a *query*, a row of
# `q`. Each element offers a *key*, a row of `k`, and a *value*, a row of `v`. With d numbers in each query and key:
#
#     weights = softmax(q kᵀ / √d)        one row for each query; each row adds up to 1
#     out     = weights v                 for each query a mean of the values
#
# With `causal=True` element i sees only the elements up to i, itself included. A network that writes a text needs that:
# it does not know what comes next. Write `attention`, which returns `out` and `weights`; use `jt.softmax(scores, dim)`.
#
# **Predict.** In the pictures below, the queries are the features of three places in the photograph, and the keys are
# those of all places. Where does a place in the sky look?
#
# <details><summary>A hint</summary> `k.T` has shape (d, s), so the scores `q @ k.T` have shape (t, s). Along which axis
# do the weights of one query stand? </details>
# <details><summary>A second hint</summary> A score of -inf gives a weight of 0. The mask is
# `jt.array(np.tri(t, s)) > 0`, and `jt.where(mask, scores, -np.inf)` applies it. </details>
# <details><summary>Half of it</summary> `scores = q @ k.T / np.sqrt(q.shape[1])` </details>


# %%
def attention(q, k, v, causal=False):
    """(out, weights) of q (t, d), k (s, d) and v (s, e)."""
    return None


print(verdict := check.check_attention(attention))
if verdict.passed:
    features = maps["layer1"][0].flatten(1).T.numpy()  # (24 * 32 places, 64 channels)
    places = jt.array((features - features.mean(0)) / features.std(0))
    asked = {"sky": (3, 22), "roof": (10, 9), "trees": (20, 24)}  # row and column, of 24 by 32
    _, weights = attention(places[[32 * y + x for y, x in asked.values()]], places, places)
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

# %% [markdown]
# **Look.** Nothing was trained here. A place looks at places whose features are like its own, since the dot product of
# two rows is large where they are alike. In a network, `q`, `k` and `v` are the features times three trained matrices,
# so it learns *what* to look for. `nn.MultiheadAttention` has such matrices, several times over, side by side.
#
# ## 11. The other way to read a sequence
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
# digit is read again. Which of the eight outputs change with an LSTM? With attention? With causal attention?

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
# **Look.** An `X` is an output that has changed. Neither an LSTM nor causal attention sees what comes later, so both
# can write a text word by word. An LSTM needs the output for one element before it can read the next: eight steps, one
# after the other. Attention treats all rows at once, in two products of matrices, but compares each with each: a
# sequence twice as long has four times as many weights.
#
# **Before you close this page**: you are given a backbone with trained weights, and a hundred labelled images from a
# hospital. What do you freeze, what do you train, and what do you check before you trust the first score?
