# %% [markdown]
# ## 10. Exercise 11.5: attention
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

# %%
import numpy as np

import jt_edu as jt
from jt_exercises import YourTurn, check, hint, solution


def attention(q, k, v, causal=False):
    """(out, weights) of q (t, d), k (s, d) and v (s, e)."""
    # BEGIN SOLUTION return what comes out, and the weights
    scores = q @ k.T / np.sqrt(q.shape[1])
    if causal:
        mask = jt.array(np.tri(q.shape[0], k.shape[0])) > 0
        scores = jt.where(mask, scores, -np.inf)
    weights = jt.softmax(scores, 1)
    return weights @ v, weights
    # END SOLUTION


check("11.5", attention)
