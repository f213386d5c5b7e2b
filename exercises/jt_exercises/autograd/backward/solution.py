# %% [markdown]
# ## 3. Exercise 01.3: backward, in order
#
# Fill in `backward`. `order` holds `y` and every number that `y` was made from, each after its inputs. So the *last*
# one is `y` itself. (`made_before` uses a stack, because Python would stop a recursion that is 10,000 calls deep.)
#
# Run the cell as often as you like. A try that fails opens a hint.

# %%
from jt_exercises import YourTurn, check, hint, solution


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


def backward(y, order):
    """Give each number in `order` its gradient; that of y is 1."""
    y.grad = 1.0
    # BEGIN SOLUTION hand each number's share to those it came from
    for node in reversed(order):
        for before, local in node.came_from:
            before.grad += node.grad * local
    # END SOLUTION


check("01.3", backward)
