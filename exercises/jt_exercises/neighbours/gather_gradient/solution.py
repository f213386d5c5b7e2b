# %% [markdown]
# ## 4. Exercise 09.3: the gradient
#
# The *number* of the nearest point has no gradient: if you move a point a little, the number stays the same, or it
# jumps. A *distance* has one. So a network first chooses points, without a gradient, then *gathers* them, and computes
# with what it gathered. This is `neighbours.GATHER`, where `in0` holds points, and `in1` numbers of points:
#
# ```python
# for i in prange(out_shape0):
#     for r in range(out_shape1):
#         j = @in1(i, r)
#         for a in range(out_shape2):
#             @out(i, r, a) = @in0(j, a)
# ```
#
# **Predict.** In a cloud where every point has 4 neighbours, to how many rows of `out` is one point copied? What does
# that mean for its gradient?
#
# Now write the gradient with respect to the points. It is a body, too: `dout`, of shape (queries, k, axes), is the
# gradient of the output; `in0` and `in1` are the inputs, as before; and you fill `out`, with one row for each point.
# Your body is also tried with `debug=True`, which runs it in Python and notes which round touches which element. So
# it finds a *race*: two rounds of a `prange` that write to the same element, or one that reads what another one writes.

# %%
from jt_exercises import check, hint, solution

BACK = """
    # BEGIN SOLUTION add up what arrives at each point, in its row of out
    for a in prange(out_shape1):
        for j in range(out_shape0):
            out[j, a] = 0
        for i in range(in1_shape0):
            for r in range(in1_shape1):
                out[in1[i, r], a] += dout[i, r, a]
    # END SOLUTION
"""
check("09.3", BACK)
