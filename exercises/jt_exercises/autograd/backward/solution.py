# %% [markdown]
# ## 3. Exercise 01.3: backward, in order
#
# Fill in `backward`. `order` holds `y` and every number that `y` was made from, each after its inputs. So the *last*
# one is `y` itself.
#
# Run the cell as often as you like. A try that fails opens a hint.

# %%
from jt_exercises import YourTurn, check, hint, solution


def backward(y, order):
    """Give each number in `order` its gradient; that of y is 1."""
    y.grad = 1.0
    # BEGIN SOLUTION hand each number's share to those it came from
    for node in reversed(order):
        for before, local in node.came_from:
            before.grad += node.grad * local
    # END SOLUTION


check("01.3", backward)
