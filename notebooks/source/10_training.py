# %% [markdown]
# # 10 Modules, optimisers, training a digit classifier
#
# *An hour. Do [00](00_start_here.ipynb) and [01](01_autograd_by_hand.ipynb) first.*
#
# In this notebook a small network learns to read handwritten digits: real ones, 8 by 8 pixels each. At the end it
# reads at least 97 of 100 digits that it has never seen. From the first cell to that number it takes less than a
# minute on a laptop, with every kernel compiled on the way; the notebook measures that itself.
#
# As always: **predict**, **run**, **look**.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_edu import nn, optim
from jt_edu.data import ArrayDataset, digits, progress
from jt_exercises import predict

clock = time.perf_counter()
jt.set_global_seed(0)

images, labels = (v.numpy() for v in next(iter(digits(batch_size=2000))))
unseen, answers = (v.numpy() for v in next(iter(digits(train=False, batch_size=2000))))
print(f"{len(images)} images of shape {images.shape[1:]} to learn from, {len(unseen)} are held out")

# %% [markdown]
# ## 1. The data
#
# The images that are held out are for the exam only: nothing below learns from them.
#
# The others are few. But a digit that is moved by one pixel is the same digit, and that gives five times as many. They
# are shown to the network in *batches* of 128 images: one step of learning for each.


# %%
def moved(pictures, down, right):
    """The same pictures, moved by so many pixels; what comes in from the border is empty."""
    padded = np.pad(pictures, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return padded[:, :, 1 - down : 9 - down, 1 - right : 9 - right]


directions = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
train = ArrayDataset(
    np.concatenate([moved(images, *direction) for direction in directions]),
    np.tile(labels, len(directions)),
    batch_size=128,
    shuffle=True,
)
print(f"{train.total_len} images in {len(train)} batches")

figure, axes = plt.subplots(2, 10, figsize=(10, 2.4))
for axis, image, label in zip(axes.flat, images, labels, strict=False):
    axis.imshow(image[0], cmap="gray_r")
    axis.set_title(label, fontsize=10)
    axis.axis("off")

# %% [markdown]
# ## 2. A module is an ordinary object
#
# A module keeps its parameters as attributes, and says in `execute` what it computes. Nothing is registered: whoever
# asks for the parameters walks through the attributes and takes every Var of floats that is found, in modules inside
# of modules too.
#
# This one has three layers of sums with weights, `Linear`. Between them stand `relu`, which puts 0 in place of what is
# negative, and `Dropout`, which while the network learns puts 0 in place of a tenth of the numbers, chosen at random.
# (Each number that a layer gives is the work of a *unit*; thanks to `Dropout`, no unit relies on a single other one.)
#
# **Predict.** How many numbers does this network learn? (64 pixels go in; a layer from n to m has n·m weights and m
# biases.)


# %%
class Reader(nn.Module):
    def __init__(self, hidden=256):
        self.first = nn.Linear(64, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, 10)
        self.drop = nn.Dropout(0.1)

    def execute(self, x):
        x = self.drop(self.first(x.flatten(1)).relu())
        x = self.drop(self.second(x).relu())
        return self.last(x)


reader = Reader()
for name, parameter in reader.named_parameters():
    print(f"{name:<15} {parameter.shape!s:<12} {parameter.size:>7,}")
print(f"{'together':<28} {sum(p.size for p in reader.parameters()):>7,}")

# %% [markdown]
# ## 3. First, learn one batch by heart
#
# Before a long training, try a short one that cannot fail: on one batch, again and again. A network that cannot even
# learn 128 images by heart has a bug, and you find it now instead of tomorrow.
#
# An *optimiser* changes the parameters after each batch, so that the loss gets smaller; `Adam` is a widely used one,
# and `lr`, its *learning rate*, says how large its steps are.
#
# **Predict.** What is the loss before the first step? (Ten classes, and the network knows nothing: it gives each of
# them about 1/10. The loss is the negative logarithm of what it gives to the right one.)

# %%
x, y = next(iter(train))
trial = Reader()
optimizer = optim.Adam(trial.parameters(), lr=4e-3)
for step in range(41):
    loss = jt.cross_entropy_loss(trial(x), y)
    optimizer.step(loss)
    if step % 10 == 0:
        print(f"step {step:2}   loss {loss.item():.4f}")
print(f"\n-log(1/10) is {np.log(10):.4f}")

# %% [markdown]
# **Look.** It starts where a network that knows nothing must start, and goes to nearly 0: this code can learn.
#
# The same once more, watched: a panel that shows each layer while it learns. *Pause* it, take single steps, and look
# at *update / weight*: by which part of their size a step changes the weights. A rule of thumb: far below 0.001 a layer
# stands still; 0.01 is a lot, and good only at the start, while there is nothing yet that it could forget.

# %%
watched = Reader()
panel = see.train_panel(
    watched,
    optim.Adam(watched.parameters(), lr=4e-3),
    lambda net, x, y: jt.cross_entropy_loss(net(x), y),
    [(x, y)],
)
display(panel)  # noqa: F821 - IPython's
await panel.train(steps=41)

# %% [markdown]
# ## 4. Training
#
# An *epoch* shows every image once, in a new order. The learning rate goes down along half a cosine: large steps first,
# to get there, small ones at the end, to settle.

# %%
EPOCHS = 8
optimizer = optim.Adam(reader.parameters(), lr=4e-3)
losses, marks = [], []
for epoch in range(1, EPOCHS + 1):
    bar = progress(train, epoch=epoch, epochs=EPOCHS)
    for x, y in bar:
        optimizer.lr = 4e-3 * (1 + np.cos(np.pi * len(losses) / (EPOCHS * len(train)))) / 2
        scores = reader(x)
        loss = jt.cross_entropy_loss(scores, y)
        optimizer.step(loss)
        bar.show(loss=loss, accuracy=(scores.numpy().argmax(1) == y.numpy()).mean())
        losses.append(loss.item())
    reader.eval()
    marks.append((reader(jt.array(unseen)).numpy().argmax(1) == answers).mean())
    reader.train()

# %% [markdown]
# ## 5. The exam

# %%
reader.eval()  # dropout is for training
read = reader(jt.array(unseen)).numpy().argmax(1)
accuracy, seconds = (read == answers).mean(), time.perf_counter() - clock
print(f"{accuracy:.2%} of {len(answers)} held-out digits are read correctly")
print(f"{seconds:.1f} s from the first cell to here")
assert accuracy >= 0.97

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.6))
left.plot(losses, color="#0072b2", linewidth=0.8)
left.set(title="loss of each batch", xlabel="step", yscale="log")
middle.plot(range(1, EPOCHS + 1), marks, marker="o", color="#d55e00")
middle.set(title="held-out digits read correctly", xlabel="epoch", xticks=range(1, EPOCHS + 1))
confusion = np.zeros((10, 10), int)
np.add.at(confusion, (answers, read), 1)
right.imshow(confusion, cmap="cividis")
right.set(title="which was read as which", xlabel="read as", ylabel="is", xticks=range(10), yticks=range(10))
for i, k in zip(*np.nonzero(confusion), strict=True):
    right.text(k, i, confusion[i, k], ha="center", va="center", fontsize=7, color="black" if i == k else "white")
figure.tight_layout()
plt.show()

wrong = np.flatnonzero(read != answers)[:10]
figure, axes = plt.subplots(1, 10, figsize=(10, 1.5))
figure.suptitle("read wrongly", fontsize=9, x=0.12, ha="left")
for axis in axes:
    axis.axis("off")
for axis, k in zip(axes, wrong, strict=False):
    axis.imshow(unseen[k, 0], cmap="gray_r")
    axis.set_title(f"{answers[k]}, not {read[k]}", fontsize=8)

# %% [markdown]
# **Look** at the digits that were read wrongly. Would you have known?
#
# ## 6. Dead units
#
# A unit after `relu` gives 0 where its input is negative. A unit that gives 0 for *every* image is dead: its gradient
# is 0 as well, so it can never learn again. The loss does not show that; the units themselves do.
#
# **Predict.** A second network starts with biases of -1 instead of about 0. How many of its 256 first units are dead
# before it has learned anything?


# %%
def firing(network):
    """For each unit of the first layer: the share of the images for which it is not 0."""
    return (network.first(jt.array(images).flatten(1)).relu() > 0).float().mean(0).numpy()


fresh, badly_started = Reader(), Reader()
badly_started.first.bias.assign(jt.full((256,), -1.0))
shares = {"fresh": firing(fresh), "badly started": firing(badly_started), "trained": firing(reader)}

figure, axes = plt.subplots(1, 3, figsize=(13, 2.6))
for axis, (name, share) in zip(axes, shares.items(), strict=True):
    axis.hist(share, bins=40, range=(0, 1), color="#009e73")
    axis.set(title=f"{name}: {(share == 0).sum()} of 256 are dead", xlabel="share of images for which a unit fires")

# %% [markdown]
# **Look.** Nearly all of them; the exact numbers stand above the pictures. Pixels are between 0 and 1, and the weights
# of a new layer small, so hardly any sum exceeds 1. Some units of the fresh network are dead, too, by the chance of
# their weights: a few do no harm.
#
# ## 7. What one step runs
#
# **Predict.** One training step is the network, the loss, the gradients and Adam's formula for six parameters: more
# than 200 operators. How many kernels? Put their number in place of the dots; half of it, or twice as many, is right,
# too.
#
# Below the list a smaller step can be looked into: one layer, the mean of squared differences as its loss, and its
# gradients. Select an operator in the graph, and its lines in the kernel and its moment on the tape light up; dashed
# outlines are gradients.

# %%
reader.train()
with jt.trace() as t:
    loss = jt.cross_entropy_loss(reader(x), y)
    optimizer.step(loss)
predict("10.7", ..., lambda: len(t.kernels), factor=2)
print(f"{len(t.built)} nodes were built, {len(t.kernels)} kernels ran, {t.compiled} of them were compiled now\n")
print(t)

layer = nn.Linear(64, 10)
pixels, wanted = jt.array(images[:128].reshape(128, 64)), jt.array(np.eye(10, dtype=np.float32)[labels[:128]])
jt.sync(layer.parameters())
loss = ((layer(pixels) - wanted) ** 2).mean()
see.explore(loss)

# %% [markdown]
# **Look.** The first line has the numbers: more than ten nodes for each kernel. A matrix product is one kernel,
# `matmul`; those in the second half are products of the way back. What stands before and after a product shares a loop
# with its neighbours. A name with `random_bits` draws what `Dropout` leaves out, and one with `sqrt` is Adam's formula
# for a parameter: 13 nodes, one loop. (There are fewer of them than parameters: the formula of a bias can share the
# loop that made its gradient.)
#
# ## 8. Find the bug
#
# The next cell learns one batch by heart, as in part 3, in the style of other frameworks: `backward`, then `step`.
# One line is missing. **Run** it, **look** at the losses, and repair it.

# %%
x, y = next(iter(train))
trial = Reader()
optimizer = optim.SGD(trial.parameters(), lr=0.5)
for step in range(61):
    loss = jt.cross_entropy_loss(trial(x), y)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step:2}   loss {loss.item():.4f}")

# %% exercise 10.8

# %% exercise 10.9

# %% [markdown]
# **Look** at what the check shows. Below the largest the loss shrinks, at 0.95 slowly, since each step jumps to the
# other side of the valley. At 1 it stays, and above it grows with each step. At half of it one step ends at the lowest
# point, if all directions are equally steep. They never are: the steepest one forbids a larger step, and the flattest
# one hardly moves. That is why Adam has a step for each number.
#
# **Before you close this page**: which of your predictions was farthest off, and why?
