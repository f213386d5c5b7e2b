# %% [markdown]
# ## 8. Exercise 02.8: gather and scatter-add
#
# The index may also come from another array. Pass such arrays in the list `extras`: then `load(0, (i,))` is element i
# of the first one. If `letters` is [10, 11, 12, 13, 14] and `words` is [4, 0, 0], then
# `letters.reindex((3,), lambda i: (load(0, (i,)),), extras=[words])` is [14, 10, 10].
#
# An *embedding table*, which has a row for each word, is read like this, and its gradient is added up like this. Write
# `gather_rows` as one `reindex`, and `add_rows` as one `reindex_reduce`.

# %%
from jt_edu.ir.index_expr import load
from jt_exercises import YourTurn, check, hint, solution


def gather_rows(table, words):
    """Row words[i] of the table, for each i."""
    # BEGIN SOLUTION return one reindex, with words in extras
    shape = (words.shape[0], table.shape[1])
    return table.reindex(shape, lambda i, j: (load(0, (i,)), j), extras=[words])
    # END SOLUTION


def add_rows(rows, words, count):
    """A table of `count` rows: row i of `rows` is added to row words[i] of the table."""
    # BEGIN SOLUTION return one reindex_reduce, with words in extras
    shape = (count, rows.shape[1])
    return rows.reindex_reduce("add", shape, lambda i, j: (load(0, (i,)), j), extras=[words])
    # END SOLUTION


check("02.8", gather_rows, add_rows)
