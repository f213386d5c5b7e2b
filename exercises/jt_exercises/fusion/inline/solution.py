# %% [markdown]
# ## Exercise 03.2: `can_inline`
#
# Operators that share a kernel may still have a loop each. The closest way to fuse is to *inline*: `b` reads `a`, and
# each element of `a` is computed where `b` needs it. Then `a` is never an array, and has no loop of its own.
#
# Write a rule that returns True if `a` can be inlined. It is True for `x * 2` read by `exp`. It is False for a sum read
# by `exp`, because the sum is complete only after its own loop (though they share a kernel, as in exercise 03.1). Find
# the other three reasons for False. Your answers are compared with the framework's decisions for the same pairs.
#
# `a` and `b` are records: `a.kind` is "elementwise", "reduce" or "matmul"; `a.held` is True if the value of `a` was
# asked for, or if a variable still holds it; `a.work` is what one element costs, in multiplications. `times` is how
# often `b` reads each element of `a`.

# %%
from jt_exercises import YourTurn, check, hint, solution


def can_inline(a, b, times):
    # BEGIN SOLUTION return whether `a` can be computed where `b` needs it
    if a.held or a.kind != "elementwise" or b.kind == "matmul":
        return False
    return times == 1 or a.work <= 4
    # END SOLUTION


check("03.2", can_inline)
