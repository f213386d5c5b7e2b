# %% [markdown]
# # 01 Autograd by hand
#
# *A little over an hour. Do [00](00_start_here.ipynb) first; you need derivatives from school.*
#
# A network learns by asking one question about each of its numbers: if this one grows a little, how much does the
# *loss* (the error) grow? The answer is a *gradient*. Here you build a program that computes it, in 30 lines of plain
# Python. You first get it wrong, as most people do. Then you find the same parts in the framework.
#
# **Predict**, **run**, **look**, as always. In the exercises, replace each `raise YourTurn(...)` with your answer (in
# section 7, change the list) and run the cell again: it says whether you were right and, if not, which case failed.

# %%
import math
import time

import matplotlib.pyplot as plt
import numpy as np

import jt_edu as jt
from jt_edu.ir.node import history
from jt_exercises import predict

# %% [markdown]
# ## 1. A slope can be measured
#
# Move `x` a hair to each side, see how far `y` moves, and divide. That is a *central difference*. It needs no calculus,
# only two calls of the function for each number you ask about. We call it the *judge*: it will check your gradients.
#
# **Predict.** What is the slope of `x * x` at 3, and of `exp(x)` at 0? Will the judge find it to the last digit?


# %%
def slope(function, x, step=1e-3):
    """How much `function` grows at x, for each unit that x grows."""
    return (function(x + step) - function(x - step)) / (2 * step)


for name, function, at in [("x * x", lambda x: x * x, 3.0), ("exp(x)", math.exp, 0.0), ("1 / x", lambda x: 1 / x, 2.0)]:
    print(f"{name:<7} at {at}: {slope(function, at):.9f}")

# %% [markdown]
# **Look.** It nearly does: the exact slopes are 6, 1 and -0.25. The error of a central difference shrinks with the
# square of the step, until rounding takes over. So we compare with a tolerance, never for exact equality.
#
# Networks have millions of numbers, and two calls for each of them are too many. But one walk back through what was
# computed finds the gradients with respect to *all* inputs (for short: the gradients *of* all inputs). Each operator
# knows how its output changes with its inputs. These local slopes are multiplied along the way: that is the chain rule.
#
# ## 2. Your own program
#
# A `Number` below remembers its value, what it was made from, and the *local slope* with respect to each of those: for
# a product `a * b` the slope is `b` with respect to `a`, and `a` with respect to `b`. `push` walks back and hands each
# input its share. It looks right.
#
# **Predict.** `y = b + b` with `b = a * 1`. What is the slope of `y` with respect to `a`, and what will `push` find?
# Put what `push` finds in place of the dots.


# %%
class Number:
    """A value that knows where it came from."""

    def __init__(self, value, came_from=()):
        self.value, self.came_from, self.grad = value, came_from, 0.0

    def __add__(self, other):
        return Number(self.value + other.value, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        return Number(self.value * other.value, ((self, other.value), (other, self.value)))


def push(node, dout=1.0, level=0, told=True):
    """Give `node` its gradient `dout`, then walk on to each of its inputs."""
    node.grad += dout
    if told:
        print("  " * level + f"value {node.value:g} receives {dout:g}, has {node.grad:g} now")
    for before, local in node.came_from:
        push(before, node.grad * local, level + 1, told)


def pushed(told=True):
    a = Number(5.0)
    b = a * Number(1.0)
    y = b + b
    push(y, told=told)
    return a.grad


predict("01.2", ..., lambda: pushed(told=False))
print(f"\npush finds {pushed():g}; the judge finds {slope(lambda v: v * 1 + v * 1, 5.0):.6f}")

# %% [markdown]
# **Look** at the lines: the walk passes through `b` twice, since `y` reads it twice. The first time it carries 1. The
# second time `b` has 2 and hands on *all* of it, so the first 1 is counted twice: `a` gets 1 + 2 = 3 instead of 2.
#
# Where paths join, gradients **add**. But a sum must be complete before it is passed on. We could pass on `dout`
# instead of `node.grad`. The sums would be right, but the walk would follow every path separately.
#
# **Predict.** `x = x + x` runs 16 times. How many numbers are there, and how many paths lead from the last to the
# first?


# %%
def push_each_path(node, dout=1.0):
    """Like `push`, but each path carries only its own share. Returns how many steps it took."""
    node.grad += dout
    return 1 + sum(push_each_path(before, dout * local) for before, local in node.came_from)


for times in (4, 8, 12, 16):
    first = x = Number(1.0)
    for _ in range(times):
        x = x + x
    begin = time.perf_counter()
    steps = push_each_path(x)
    took = (time.perf_counter() - begin) * 1e3
    print(f"{times + 1:>3} numbers: slope {first.grad:>7g}, {steps:>7,} steps, {took:8.2f} ms")


def made_before(y):
    """`y` and every number it was made from, each after those it came from."""
    order, seen, waiting = [], set(), [(y, False)]
    while waiting:
        node, done = waiting.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            waiting.append((node, True))
            waiting += [(before, False) for before, _ in node.came_from]
    return order


c = Number(2.0) * Number(3.0)
print("in order:", *(f"{node.value:g}" for node in made_before(c + c)))

# %% [markdown]
# **Look.** 16 additions make 17 numbers and 65,536 paths (2 to the power of 16), which is also the slope. There are
# even more steps, because each visit to a number counts as a step. The slopes are right, but four more additions take
# 16 times as long. The way out is an **order**: visit each number once, and only after everything that was made *from*
# it. `made_before` lists the numbers the other way round; the last line shows this list for `c + c` with `c = 2 * 3`.

# %% exercise 01.3
# %% [markdown]
# ## 4. The same, in the framework
#
# `short_grad` does what `jt.grad` does, with nodes of the framework: `history` does what `made_before` did, the two
# loops are yours, and `op.gradients` holds a rule for each input instead of a local slope. One thing is new: a gradient
# is not a number. It is a Var, so each rule adds nodes to the **graph**. (The real function, in
# `jt_edu/variable/autograd.py`, also skips inputs that need no gradient, and lets you change gradients on the way.)
#
# **Predict.** The cell ends with a picture of such a graph: `dc`, the gradient of `c`. `c` is used four times. How many
# gradients arrive at it, and what stands where they meet? And what values will `da` and `db` have?


# %%
def short_grad(loss, target):
    """The gradient of `target`, as `jt.grad` finds it."""
    var = type(loss)._of  # makes a Var of a node
    grads = {loss.node: loss.ones_like()}  # a table, not an attribute
    for node in reversed(history(loss.node)):
        out, dout, inputs = var(node), grads[node], [var(before) for before in node.inputs]
        for before, rule in zip(node.inputs, node.op.gradients, strict=False):
            share = rule(out, dout, *inputs)
            grads[before] = grads[before] + share if before in grads else share
    return grads[target.node]


a, b = jt.array(3.0), jt.array(-2.0)
jt.sync([a, b])
c = a * b
y = c * c + a * c + c
da, db, dc = jt.grad(y, [a, b, c])
picture = jt.graph(dc)
print("dy/da", da.item(), "  dy/db", db.item())
print("from short_grad:", short_grad(y, a).item(), short_grad(y, b).item())
picture

# %% [markdown]
# **Look** at the nodes with dashed outlines, which belong to the gradient: wherever paths join there is an `add`. Four
# gradients arrive at `c`: the number 1, and three products. Three additions combine them into one, `dc`. The check in
# section 3 tested your `backward` on this same expression, with the same `a` and `b`, so it found these values of `da`
# and `db`, too.

# %% exercise 01.5

# %% exercise 01.6

# %% exercise 01.7

# %% [markdown]
# ## 8. A gradient has a gradient
#
# `jt.grad` returns more graph, so you can differentiate it again. **Predict** the second derivative of x³ at 2. The
# cell also draws x³ - 2x, its slope, and the slope of that slope. Where the first slope is 0, what does x³ - 2x do?

# %%
x = jt.array(np.linspace(-2, 2, 201))
y = x**3 - 2 * x
first = jt.grad(y.sum(), x)
second = jt.grad(first.sum(), x)

figure, axis = plt.subplots(figsize=(7, 3.2))
for values, label, colour in [(y, "x³ - 2x", "#0072b2"), (first, "slope", "#d55e00"), (second, "its slope", "#009e73")]:
    axis.plot(x.numpy(), values.numpy(), label=label, color=colour)
axis.axhline(0, color="#8a8f98", linewidth=0.6)
axis.legend()
plt.show()

at_two = jt.array(2.0)
curved = jt.grad(jt.grad(at_two**3, at_two), at_two)
print(f"the second derivative of x³ at 2 is {curved.item():g}")

# %% [markdown]
# **Look.** The slope of x³ is 3x², and the slope of 3x² is 6x: 12 at x = 2. Where the first derivative is 0, a second
# derivative below 0 means the top of a hill, and one above 0 the bottom of a valley.

# %% exercise 01.9

# %% [markdown]
# ## 10. Break it
#
# Somebody wanted to watch the hidden values and wrote `hidden.numpy()` in the wrong place. **Predict** what happens,
# then run. Repair the line marked with an arrow, so that a gradient arrives at `weight`.

# %%
weight = jt.array([[0.5, -1.0], [2.0, 0.1]])
inputs = jt.array([[1.0, 2.0]])
hidden = (inputs @ weight).relu()
watched = jt.array(hidden.numpy())  # <--
loss = (watched * watched).sum()

try:
    print("a gradient arrives:", jt.grad(loss, weight).tolist())
except jt.GradientError as error:
    print(f"{type(error).__name__}: {error}")

# %% [markdown]
# <details><summary>The answer</summary> `numpy()` returns plain numbers, which do not know where they came from. So the
# new Var is not connected to `weight`. Use the Var itself: `watched = hidden`. </details><br>
#
# **Before you close this page**: why must a gradient wait before it is passed on? Which line of your `backward` makes
# sure that it does?
