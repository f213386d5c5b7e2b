# %% [markdown]
# ## 3. Exercise 09.2: a short list
#
# For each neighbour, your operator goes through all the distances again. The film did not: it kept a short list. Write
# `insert`, which puts one point into such a list. `best` holds the `k` smallest squared distances so far, the smallest
# first, and infinity where there is none yet; `index` holds the numbers of their points. `insert` is called only when
# `far`, the squared distance of point `j`, is smaller than the last one in `best`. That last one drops out, those that
# are farther than `far` move back one place, and `far` and `j` go into the place that is now free.
#
# `insert` is a function, so it goes into `cpu_header`, where every body finds it. This body, `neighbours.LIST`, calls
# it:
#
# ```python
# for i in prange(out_shape0):
#     best = np.full(out_shape1, np.inf)
#     out[i] = -1
#     for j in range(in1_shape0):
#         far = 0.0
#         for a in range(in1_shape1):
#             far += (@in0(i, a) - @in1(j, a)) ** 2
#         if far < best[-1]:
#             insert(best, out[i], far, j)
# ```

# %%
from jt_exercises import check, hint, solution

INSERT = """
def insert(best, index, far, j):
    # BEGIN SOLUTION move those back that are farther, and store far and j
    place = len(best) - 1
    while place > 0 and best[place - 1] > far:
        best[place], index[place] = best[place - 1], index[place - 1]
        place -= 1
    best[place], index[place] = far, j
    # END SOLUTION
"""
check("09.2", INSERT)
