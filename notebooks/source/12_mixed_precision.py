# %% [markdown]
# # 12 Mixed precision: how small can a number be?
#
# *An hour and a half. Do [01](01_autograd_by_hand.ipynb) and [10](10_training.ipynb) first.*
#
# A number of float32 takes 4 bytes. There are two dtypes that take half of that: float16 and bfloat16. With them a
# network needs less memory, and much of the hardware that was made for networks is several times as fast. But half of
# the bits are missing. In this notebook you see what goes wrong without them, and the three remedies that make it go
# right: some functions stay in float32, the loss is multiplied by a scale, and the weights have a second copy.
#
# **Predict**, **run**, **look**. There are five exercises. Each check says *right*, or what is wrong.
#
# ## 1. What fits into 16 bits?
#
# A float is a *sign*, an *exponent* that says between which two powers of two it lies, and a *fraction* that says where
# between them. So a dtype has between 1 and 2 as many numbers as between 1,024 and 2,048. float16 spends 5 of its bits
# on the exponent and 10 on the fraction, bfloat16 spends 8 and 7. A number of either of them is called a *half*.
#
# **Predict**: float16 has 1,024 numbers between 1,024 and 2,048, and as many between 2,048 and 4,096. What becomes of
# 2,049 there? Put it in place of the dots.

# %%
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import jt_edu as jt
import jt_widgets as see
from jt_edu import nn, optim
from jt_edu.data import digits
from jt_exercises import precision, predict

jt.set_num_threads(1)
print("           least     largest   next after 1   1/3 becomes   1e-8 becomes   70,000 becomes")
for dtype in ("float16", "bfloat16", "float32"):
    info = jt.finfo(dtype)
    third, small, large = jt.array([1 / 3, 1e-8, 7e4]).cast(dtype).cast("float64").tolist()
    print(f"{dtype:8}  {info.smallest_subnormal:.1e}   {info.max:.1e}   1 + {info.eps:.1e}", end="")
    print(f"   {third:11.9f}   {small:12.1e}   {large:14.6g}")

predict("12.1b", ..., lambda: jt.array(2049.0).cast("float16").item())

# %% [markdown]
# **Look.** Between 2,048 and 4,096 the numbers of float16 are 2 apart. 2,049 is in the middle between two of them.
# Then the one whose last binary digit is 0 is taken, the *even* one.
#
# bfloat16 has nearly the range of float32, and only two or three decimal digits. float16 has one digit more, and its
# range ends soon: 1e-8 is 0 there, and 70,000 is inf.
#
# %% exercise 12.1
# %% [markdown]
# ## 3. Gradients fall off the left edge
#
# Here is a network with six hidden layers, which is to read digits. Between its layers stands `Sigmoid`, which squeezes
# each number into the range from 0 to 1. Its slope is 1/4 at the most, so a gradient becomes smaller with each layer on
# its way back.
#
# The picture shows the gradients of what each layer gives, before the first step. Each row is a histogram: absolute
# values by powers of two. Above them are the ranges of the three dtypes. Multiply all gradients by a *scale*: pick one
# below, with a click, or with Tab and the arrow keys.
#
# **Predict**: how many percent of all these gradients become 0 in float16, without a scale? (Half of it, or twice as
# much, is right, too.) Which of the scales is the best one?

# %%
x, y = next(iter(digits(batch_size=512)))
x = x.flatten(1)


def deep():
    """Six hidden layers, and the same weights each time."""
    jt.set_global_seed(0)
    sizes = [64] * 7
    hidden = [layer for n, m in pairwise(sizes) for layer in (nn.Linear(n, m), nn.Sigmoid())]
    return nn.Sequential(*hidden, nn.Linear(64, 10))


given, h = [], x
for layer in deep():
    h = layer(h)
    if isinstance(layer, nn.Linear):
        given.append(h)
slopes = [slope.numpy() for slope in jt.grad(jt.cross_entropy_loss(h, y), given)]


def lost(scale=1.0):
    """Percent of the gradients that are 0 in float16, and are not 0 in float32."""
    pairs = [(slope[slope != 0], (slope[slope != 0] * scale).astype(np.float16)) for slope in slopes]
    return 100 * sum((half == 0).sum() for _, half in pairs) / sum(slope.size for slope, _ in pairs)


predict("12.3b", ..., lambda: float(lost()), factor=2)
precision.number_line({f"layer {k}": slope for k, slope in enumerate(slopes, 1)})

# %% [markdown]
# **Look.** Without a scale hardly anything arrives at the first two layers, so they cannot learn. There is a lot of
# room on the other side. A scale is a power of two, so it moves all gradients without rounding any of them. Gradients
# are linear in the loss: to multiply all of them, multiply the loss, and divide what arrives at the weights.
#
# The scale should be large. But if a single gradient becomes inf, everything that is computed with it is wrong.
#
# ## 4. A region of mixed precision
#
# The lines inside of `with jt.amp.autocast(...)` are a *region*. There each function looks into lists, to find in
# which dtype it computes. The lists are those of PyTorch; `jt.autocast("cuda")` takes those for a GPU. Products run in
# halves: they are most of the work, and each of them adds up many numbers, so that errors average out. Losses run in
# float32, since there a small error does harm. A function in no list takes its arrays as they are. Parameters stay
# float32.
#
# **Predict**: of which dtype are `scores`, `loss`, and the gradient of a weight? Then look for the casts in the graph:
# press **Operators** and **Shapes** above it, and search for `cast`. A half has a color of its own.

# %%
net = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))


def forward():
    """The scores of a few images in bfloat16, and their loss."""
    with jt.amp.autocast(dtype="bfloat16"):
        scores = net(x[:8])
        return scores, jt.cross_entropy_loss(scores, y[:8])


with jt.trace() as trace:
    scores, loss = forward()
    slope = jt.grad(loss, net[0].weight)
print(f"scores {scores.dtype}, loss {loss.dtype}, gradient {slope.dtype}")
for cast in trace.casts:
    print(f"  {cast.function:20} list {cast.rule!r:10} {', '.join(cast.before):27} -> {cast.to}")
see.explore(forward()[1])

# %% [markdown]
# **Look.** A cast is an operator like others, so it shares a loop with its neighbors. Its gradient casts back, so the
# gradient of a weight is float32, although the way to it was computed in halves.
#
# %% exercise 12.2
# %% exercise 12.3
# %% [markdown]
# ## 7. With a scale, and without
#
# `jt.amp.GradScaler` follows this rule. It begins at 2³⁰ here, which is too large, and it doubles after 25 clean steps.
# Below, the deep network learns three times: in float32, in float16 without a scale, and in float16 with one.
#
# **Predict** all three curves, and how the scale goes on.


# %%
def learn(dtype, scaled, steps=400):
    """The loss and the scale of each step."""
    net, losses, scales = deep(), [], []
    optimizer = optim.Adam(net.parameters(), lr=3e-3)
    scaler = jt.amp.GradScaler(init_scale=2.0**30, growth_interval=25, enabled=scaled)
    for _ in range(steps):
        optimizer.zero_grad()
        with jt.amp.autocast(dtype="float16", enabled=dtype == "float16"):
            loss = jt.cross_entropy_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # divides the gradients, and leaves the step out if one is not finite
        scales.append(scaler.get_scale())
        scaler.update()
        losses.append(loss.item())
    return losses, scales


ways = {"float32": ("float32", False), "float16": ("float16", False), "float16, scaled": ("float16", True)}
looks = ("#8a8f98", 5), ("#d55e00", 1.5), ("#0072b2", 1.5)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3), layout="constrained")
for (name, way), (color, wide) in zip(ways.items(), looks, strict=True):
    losses, scales = learn(*way)
    left.plot(losses, color=color, linewidth=wide, label=name)
    print(f"{name:16} loss {losses[0]:.3f} -> {losses[-1]:.3f}")
fell = [step for step, (now, after) in enumerate(pairwise(scales)) if after < now]
print(f"steps left out: {fell}")
left.set(xlabel="step", title="loss")
left.legend()
right.plot(np.log2(scales), color="#0072b2")
right.plot(fell, np.log2(scales)[fell], "o", color="#d55e00", label="overflow")
right.set(xlabel="step", title="the scale, as a power of two")
right.legend()
plt.show()

# %% [markdown]
# **Look.** Without a scale the first layers get no gradient, and for a long time the network says the same for every
# digit. With a scale it learns as in float32, behind by the steps that were left out. The scale falls at once, until
# nothing overflows. From then on it tries after 25 clean steps whether more is possible. That is often, so that the
# picture shows it; PyTorch and Apex wait for 2,000.
#
# ## 8. Too small to be added
#
# The scale has saved the gradients. Now look at what they are added to. **Predict**, twice:
#
# - A weight is 1.0, and each of 1,000 steps takes 0.0001 away from it. What is left in float16?
# - You add up 4,096 tenths, one by one, and round to float16 after each addition. The exact sum is 409.6. Where does
#   yours end?

# %%
for dtype in ("float32", "float16", "bfloat16"):
    weight, step = jt.array([1.0]).cast(dtype), jt.array([1e-4]).cast(dtype)
    for _ in range(1000):
        weight = (weight - step).sync()
    print(f"the weight in {dtype:8} {weight.cast('float32').item():.4f}")

tenths = np.full(4096, 0.1, np.float16)
sums = [np.float16(0)]
for value in tenths:
    sums.append(sums[-1] + value)
plt.figure(figsize=(6, 2.4), layout="constrained")
plt.plot(np.arange(4097) / 10, color="#8a8f98", linewidth=4, alpha=0.4, label="exact")
plt.plot(sums, color="#d55e00", label="in float16")
plt.xlabel("how many tenths")
plt.legend()
plt.show()

halves = jt.array(tenths)
with jt.trace() as trace:
    total = halves.sum().item()
print(f"the sum in float16: {sums[-1]}, by jt_edu: {total}\n\n{trace.kernels[-1].source}")

# %% [markdown]
# **Look.** The next number of float16 below 1 is 1 - 0.0005, so 1 - 0.0001 is rounded to 1, a thousand times.
#
# From 64 to 256 the sum grows too fast: each tenth is rounded up, to 0.125. At 256 it stops. Above that the numbers
# are 0.25 apart, a tenth is less than half of it, and nothing is added any more. (The tenths are halves, too, and are
# 0.09998 each. So 409.5 is their exact sum.)
#
# The kernel of jt_edu reads halves, and adds them in a register of float32. After 1,024 of them it hands its sum on to
# float64, and it rounds to float16 once, at the end. So it reads half as many bytes, and adds with all digits. (That is
# true of all kernels: halves are for memory, registers are float32. That is why each step above ends with `sync`.
# Without it many steps share one loop, and are rounded once.)
#
# %% exercise 12.4
# %% exercise 12.5
# %% [markdown]
# ## 11. Four levels
#
# Apex, the library in which mixed precision became popular, put these remedies into four levels:
#
# | level | parameters | functions | masters | scale |
# |---|---|---|---|---|
# | O0 | float32 | float32 | | |
# | O1 | float32 | by lists | | dynamic |
# | O2 | float16 | float16 | float32 | dynamic |
# | O3 | float16 | float16 | | |
#
# Here a network with two hidden layers learns at each of them, with gradient descent and a small learning rate.
#
# **Predict**: which level ends with another loss than O0, and why? How much memory does a step need, with a batch of
# 512 images, and with a batch of 4? It needs the weights, the masters, and the arrays that it keeps for its gradient.


# %%
def shallow():
    """Two hidden layers, and the same weights each time."""
    jt.set_global_seed(0)
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def at_level(level, batch=512, steps=1):
    """The losses; and how many bytes are weights, masters, and what the first step keeps for its gradient."""
    net = shallow()
    net, optimizer = jt.amp.initialize(net, optim.SGD(net.parameters(), lr=0.02), opt_level=level, verbosity=0)
    images, labels = x[:batch], y[:batch]

    def step():
        optimizer.zero_grad()
        loss = jt.cross_entropy_loss(net(images), labels)
        with jt.amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()
        return loss.item()

    with jt.trace() as first:
        losses = [step()]
    losses += [step() for _ in range(steps - 1)]
    jt.amp.init(enabled=False)
    weights = sum(p.nbytes for p in net.parameters())
    masters = sum(p.nbytes for p in jt.amp.master_params(optimizer)) if level == "O2" else 0
    return losses, (weights, masters, jt.amp.saved_bytes(first))


figure, axes = plt.subplots(1, 3, figsize=(12, 3), layout="constrained")
colors = {"weights": "#0072b2", "masters": "#56b4e9", "kept for the gradient": "#e69f00"}
for level in ("O0", "O1", "O2", "O3"):
    losses, _ = at_level(level, steps=1500)
    axes[0].plot(losses, label=level, linewidth=5 if level == "O0" else 1.5, alpha=0.5 if level == "O0" else 1)
    told = f"{level}   loss {losses[-1]:.3f}"
    for axis, batch in zip(axes[1:], (512, 4), strict=True):
        bottom, (_, sizes) = 0, at_level(level, batch)
        for (what, color), size in zip(colors.items(), sizes, strict=True):
            axis.bar(level, size / 1000, bottom=bottom, color=color, label=what if level == "O0" else None)
            bottom += size / 1000
        axis.set(title=f"kilobytes, batch of {batch}", ylim=(0, max(axis.get_ylim()[1], 1.5 * bottom)))
        told += f"   batch of {batch}: {bottom:5.0f} kB"
    print(told)
axes[0].set(title="loss", xlabel="step", yscale="log")
axes[0].legend()
axes[1].legend()
plt.show()

# %% [markdown]
# **Look.** O1 and O2 learn as O0 does. O3 has no masters, so late in the training many of its steps are rounded away,
# and it falls behind. (Its gradients have no scale either, but here they are large enough.)
#
# With a large batch most of the memory is what the step keeps. The outputs of the layers need half of it in halves.
# But the step also keeps a copy of x in halves, so the orange bar does not become half as long. With a small batch most
# of the memory is the weights, and then the masters make O2 the level that needs the *most*. "Half of the memory" is
# true only where the outputs of layers are nearly all of it.
#
# ## 12. Find the bug
#
# This training has a scale, and it *clips* gradients: where all of them together are longer than 1, they are made
# shorter. It hardly learns at all. **Run** it, **look** at the losses, and repair it. It takes one line.

# %%
net, scaler = shallow(), jt.amp.GradScaler(init_scale=2.0**16)
optimizer = optim.SGD(net.parameters(), lr=0.5)
for step in range(201):
    optimizer.zero_grad()
    with jt.amp.autocast(dtype="float16"):
        loss = jt.cross_entropy_loss(net(x), y)
    scaler.scale(loss).backward()
    optimizer.clip_grad_norm(1.0)
    scaler.step(optimizer)
    scaler.update()
    if step % 40 == 0:
        print(f"step {step:3}   loss {loss.item():.4f}")

# %% [markdown]
# <details><summary>A hint</summary> How long are the gradients when they are clipped: with the scale in them, or
# without it? `scaler.unscale_(optimizer)` divides them by the scale before `scaler.step` would do it. </details>
#
# <details><summary>The answer</summary> `scaler.unscale_(optimizer)` stands before the line that clips. Without it the
# gradients are 65,536 times as long as they should be. They are clipped to the length 1, and then they are divided by
# the scale: hardly anything is left of a step. </details>
#
# **Before you close this page**: bfloat16 needs no scale, and it has fewer digits than float16. Which of the remedies
# of this notebook does it still need, and why? Notebook [17](17_experiments.ipynb) trains with it.
