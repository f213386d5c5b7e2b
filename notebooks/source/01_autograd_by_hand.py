# %% [markdown]
# # 01 Autograd by hand
#
# *A little over an hour. Do [00](00_start_here.ipynb) first; you need derivatives from school.*
#
# A network learns by asking one question about each of its numbers: if this one grows a little, how much does the
# *loss* (the error) grow? That is what a *gradient* answers. In this notebook you write a machine that answers it, in
# 30 lines of plain Python, get it wrong the way most people do, and then find its parts in the framework.
#
# **Predict**, **run**, **look**, as always. In the exercises, replace each `None` with your answer and run the cell
# again: it says whether you were right and, if not, which case failed.

# %%
import inspect
import math
import time

import matplotlib.pyplot as plt
import numpy as np

import jt_edu as jt
from jt_edu.variable import autograd
from jt_exercises.tell import tell

# %% [markdown]
# ## 1. A slope can be measured
#
# Move `x` a hair to each side, see how far `y` moves, and divide. That is a *central difference*, our judge in this
# notebook. It needs no calculus, only two more runs for each number you ask about.
#
# **Predict.** What is the slope of `x * x` at 3, and of `exp(x)` at 0? And will the judge agree to the last digit?


# %%
def slope(function, x, step=1e-3):
    """How much `function` grows there, for each unit that x grows."""
    return (function(x + step) - function(x - step)) / (2 * step)


for name, function, at in [("x * x", lambda x: x * x, 3.0), ("exp(x)", math.exp, 0.0), ("1 / x", lambda x: 1 / x, 2.0)]:
    print(f"{name:<7} at {at}: {slope(function, at):.9f}")

# %% [markdown]
# **Look.** Nearly. A difference has an error that shrinks with the square of the step, until rounding takes over. So we
# will compare with a tolerance, never for equality.
#
# Networks have millions of numbers, and two more runs for each of them is too much. But one walk back through what was
# computed finds the gradients of *all* inputs: each operator knows how its own output moves with its own inputs, and
# those small answers are multiplied along the way.
#
# ## 2. Your own machine
#
# A `Number` below remembers its value, what it was made from, and the *local slope* with respect to each of those: for
# a product `a * b` that is `b` for `a`, and the other way round. `push` walks back and hands each input its share. It
# looks right.
#
# **Predict.** `y = b + b` with `b = a * 1`. What is the slope of `y` with respect to `a`, and what will `push` say?


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


a = Number(5.0)
b = a * Number(1.0)
y = b + b
push(y)
print(f"\npush says {a.grad:g}; the judge says {slope(lambda v: v * 1 + v * 1, 5.0):.6f}")

# %% [markdown]
# **Look** at the lines: the walk passes through `b` twice, since `y` reads it twice. The first time it carries 1. The
# second time `b` has 2 and hands on *all* of it, so the first 1 is counted twice. 1 + 2 = 3, where 2 is right.
#
# Where paths join, gradients **add**. But nobody may pass a sum on before it is complete. One could pass on only
# `dout`, not `node.grad`: then the sums are right, but the walk takes every path separately.
#
# **Predict.** `x = x + x`, 16 times in a row. How many numbers are there, and how many paths from the last to the
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

# %% [markdown]
# **Look.** Right, but hopeless: four more additions make it sixteen times as slow. The way out is an **order**: visit
# each number once, and only after everything that was made *from* it. The next part is yours.
#
# ## 3. Exercise: backward, in order
#
# Fill in `backward`. It gets all numbers behind `y` in an order in which each comes after its inputs, so the *last* one
# is `y` itself. (`made_before` uses a stack instead of recursion: a chain of 10,000 operators would be too deep for
# Python.)
#
# <details><summary>A hint</summary> Walk through the list from its end. When a number's turn comes, its `grad` is
# complete: hand `grad * local` to each number it came from. </details>
# <details><summary>A second hint</summary> Two nested loops: `for node in reversed(order)` and
# `for before, local in node.came_from`. What does the inner one change? </details>


# %%
def made_before(y):
    """Every number behind `y`, each after those it came from."""
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


def backward(y, order):
    """Give each number in `order` its gradient; that of y is 1."""
    y.grad = 1.0


a, b = Number(3.0), Number(-2.0)
c = a * b
y = c * c + a * c + c
order = made_before(y)
backward(y, order)
begun = any(node.grad for node in order[:-1])  # did a number before y receive anything?
tell("dy/da", a.grad if begun else None, slope(lambda v: (v * -2) ** 2 + v * (v * -2) + v * -2, 3.0))
tell("dy/db", b.grad if begun else None, slope(lambda v: (3 * v) ** 2 + 3 * (3 * v) + 3 * v, -2.0))

first = x = Number(1.0)
for _ in range(1000):
    x = x * Number(1.001) + first * Number(0.001)
backward(x, made_before(x))
tell("a thousand steps", first.grad if begun else None, slope(lambda v: v * (2 * 1.001**1000 - 1), 1.0))

# %% [markdown]
# ## 4. The same, in the framework
#
# The next cell prints the lines of `jt.grad` that do what you have just done. `order` is what you know; `grads` is a
# table instead of an attribute; `hand_on` is your inner loop, and `op.gradients` are the local rules. (Skip
# `moment.twin`, which is for the views; hooks and `tape`, which are for those who change gradients or write rules; and
# `chosen` and `here`, which keep `jt.where` from handing on a gradient that it did not choose.) One thing is new: here
# a gradient is not a number but more nodes of the **graph**.
#
# **Predict.** The cell ends with a picture of such a graph: `dc`, the gradient of `c`. `c` is used four times. How many
# gradients arrive at it, and what stands where they meet? And which numbers will `da` and `db` be?

# %%
source = inspect.getsource(autograd.gradients)
print(source[source.index("    grads:") :])
print(inspect.getsource(autograd.hand_on))

a, b = jt.array(3.0), jt.array(-2.0)
jt.sync([a, b])
c = a * b
y = c * c + a * c + c
da, db, dc = jt.grad(y, [a, b, c])
picture = jt.graph(dc)
print("dy/da", da.item(), "  dy/db", db.item())
picture

# %% [markdown]
# **Look** at the nodes with dashed outlines, which belong to the gradient: wherever paths join there is an `add`. Four
# gradients arrive at `c`: the number 1, and three products. Three additions combine them into one, `dc`. And `da` and
# `db` are the numbers that your `backward` was asked for in part 3.
#
# ## 5. Exercise: one rule for each operator
#
# A rule gets the output `out`, the gradient `dout` that arrives there, and the inputs; it returns the gradient of each
# input. Multiplication is done; write the other three. The judge tests at places where the answers differ from each
# other, and `relu`, which is max(x, 0), at a negative number too.
#
# <details><summary>A hint</summary> d(x/y)/dy is -x/y², and `out` is x/y already. The slope of `exp` is `out` itself.
# `relu` lets `dout` through where x > 0; comparing arrays gives True and False, which count as 1 and 0. </details>


# %%
def mul_rule(out, dout, x, y):
    return dout * y, dout * x


def div_rule(out, dout, x, y):
    return None, None


def exp_rule(out, dout, x):
    return (None,)


def relu_rule(out, dout, x):
    return (None,)


def judge(name, function, rule, *inputs):
    """Compare each answer of a rule with differences, where `dout` is 2, 3, 4, ..."""
    out = function(*inputs)
    dout = np.arange(2.0, 2 + out.size)
    answers = rule(out, dout, *inputs)
    answers = tuple(answers) if isinstance(answers, (tuple, list)) else (answers,)
    for k, answer in enumerate(answers + (None,) * (len(inputs) - len(answers))):
        others = [(lambda v, k=k: function(*inputs[:k], v, *inputs[k + 1 :]))]
        tell(f"{name}, input {k}", answer, dout * slope(others[0], inputs[k]))


p, q = np.array([-1.5, 0.5, 2.0]), np.array([0.7, -1.2, 3.0])
judge("mul", np.multiply, mul_rule, p, q)
judge("div", np.divide, div_rule, p, q)
judge("exp", np.exp, exp_rule, p)
judge("relu", lambda x: np.maximum(x, 0), relu_rule, p)

# %% [markdown]
# ## 6. Exercise: a broadcast is undone by a sum
#
# `bias` of shape (3,) is added to `x` of shape (4, 3): each number of `bias` is *used four times*, so its gradient is a
# sum of four. **Predict** the shape of the gradient of `bias`, and of a `scale` of shape (4, 1).
#
# Then write `unbroadcast`: it gets a gradient of the large shape, and sums it down to the small one. New axes stand on
# the left; axes of length 1 were repeated.
#
# <details><summary>The answer to the prediction</summary> (3,) and (4, 1): a gradient always has the shape of what it
# is the gradient of. The lines printed below say so for five shapes. </details>
# <details><summary>A hint</summary> First `dout.sum(0)` as long as there are more axes than wanted, then
# `dout.sum(axis, keepdims=True)` for each axis whose wanted length is 1. </details>


# %%
def unbroadcast(dout, shape):
    return None


large = np.arange(24.0).reshape(2, 4, 3)
for shape in [(3,), (4, 1), (1, 4, 1), (2, 4, 3), ()]:
    small = jt.array(np.ones(shape))
    wanted = jt.grad((small.broadcast_to(large.shape) * jt.array(large)).sum(), small).numpy()
    tell(f"a gradient of shape (2, 4, 3) for an input of shape {shape}", unbroadcast(large, shape), wanted)

# %% [markdown]
# ## 7. Exercise: a checker is as good as its inputs
#
# Five rules follow, and four of them are wrong. `caught` compares each with central differences at the points in
# `places`. With `places = [1.0]` not one is caught.
#
# **Your turn**: find a list of at most four places that catches all four, without blaming the right one. Say for each
# place what it is good for. (At 0 the checker misses `log` and `x ** 3`. Why?)

# %%
rules = {
    "log": (math.log, lambda x: float(x == 1)),
    "abs": (abs, lambda x: 1.0),
    "x ** 3": (lambda x: x**3, lambda x: 3 * x),
    "sqrt(x * x + 3)": (lambda x: math.sqrt(x * x + 3), lambda x: 0.5),
    "tanh": (math.tanh, lambda x: 1 - math.tanh(x) ** 2),
}


def caught(places):
    """The rules that some place shows to be wrong."""
    found = []
    for name, (function, rule) in rules.items():
        usable = [x for x in places if x > 0.01 or name != "log"]
        if any(abs(slope(function, x) - rule(x)) > 1e-3 for x in usable):
            found.append(name)
    return found


places = [1.0]
found = caught(places)
print(f"{len(found)} of 4 are caught at {places}: {', '.join(found) or 'none'}")
four = [name for name in rules if name != "tanh"]
said = ", ".join(found) if len(places) <= 4 else f"{len(places)} places, where four will do"
tell("the four wrong rules are caught", None if list(places) == [1.0] else said, ", ".join(four))

# %% [markdown]
# ## 8. A gradient has a gradient
#
# What `jt.grad` answers is graph, so it can be differentiated again. **Predict** the second derivative of x³ at 2, and
# how the three curves below relate: where the first derivative is 0, what does the function do?

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
# **Look.** The slope of x³ is 3x², and the slope of that 6x. Where the first derivative is 0, a second derivative below
# 0 means the top of a hill, and one above 0 the bottom of a valley.
#
# ## 9. Exercise: backwards through batch norm, name by name
#
# Batch norm gives each column of `x` mean 0 and variance 1. Forward, every step has a name. Backward, each name gets a
# gradient, from the last to the first, and the framework says for each whether it is *exact*, to the last bit, and how
# large the greatest difference is. Two are done: fill in the other five, each from those above it. `centred` and `x`
# have **two** readers each, so `dcentred` and `dx` are sums.
#
# <details><summary>A hint</summary> `centred` is read by `normal` and twice by `square`; `x` is read by `centred` and
# by `mean`. `mean`, `variance` and `scale` have one number for each column: section 6 says what that means on the way
# back. </details>

# %%
random = np.random.default_rng(0)
x = jt.array(random.normal(2, 3, (6, 4)))
n = x.shape[0]
mean = x.sum(0) / n
centred = x - mean
square = centred * centred
variance = square.sum(0) / n
scale = (variance + 1e-5) ** -0.5
normal = centred * scale
dnormal = jt.array(random.normal(size=(6, 4)))

yours = {"normal": dnormal, "scale": (dnormal * centred).sum(0)}
yours["variance"] = None
yours["square"] = None
yours["centred"] = None
yours["mean"] = None
yours["x"] = None

named = {
    "normal": normal,
    "scale": scale,
    "variance": variance,
    "square": square,
    "centred": centred,
    "mean": mean,
    "x": x,
}
for name, right in zip(named, jt.grad((normal * dnormal).sum(), list(named.values())), strict=True):
    mine = yours[name]
    known = mine is not None and np.shape(mine) == right.shape
    apart = abs(np.asarray(mine) - right.numpy()).max() if known else None
    tell(f"d{name}", mine, right, near=1e-9, also=f"exact: {apart == 0!s:<5}  difference: {apart:.1e}" if known else "")

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
# <details><summary>The answer</summary> `numpy()` leaves the graph: numbers have no history. Look at `hidden` without
# putting the numbers back in: `watched = hidden`. </details><br>
#
# **Before you close this page**: why must a gradient wait before it is passed on? Which line of your `backward` makes
# sure that it does?
