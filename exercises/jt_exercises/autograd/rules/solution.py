# %% [markdown]
# ## 5. Exercise 01.5: one rule for each operator
#
# A rule gets the output `out`, the gradient `dout` that arrives there, and the inputs; it returns the gradient of each
# input. Multiplication is done; write the other three. `relu(x)` is max(x, 0), and the judge tests it below 0, too.

# %%
from jt_exercises import YourTurn, check, hint, solution


def mul_rule(out, dout, x, y):
    return dout * y, dout * x


def div_rule(out, dout, x, y):
    # BEGIN SOLUTION return two gradients: of x, and of y
    return dout / y, -dout * out / y
    # END SOLUTION


def exp_rule(out, dout, x):
    # BEGIN SOLUTION return the gradient of x
    return dout * out
    # END SOLUTION


def relu_rule(out, dout, x):
    # BEGIN SOLUTION return the gradient of x, which is 0 wherever relu is flat
    return dout * (out > 0)
    # END SOLUTION


check("01.5", div_rule, exp_rule, relu_rule)
