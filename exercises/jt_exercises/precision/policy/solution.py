# %% [markdown]
# ## 5. Exercise 12.2: who computes in which dtype?
#
# In such a region each function is in one of three lists, or in none. Write `policy`, which says to which dtypes its
# arrays are cast before it computes:
#
# - `"lower"`: all of them to `half`, the dtype of the region.
# - `"float32"`: all of them to float32.
# - `"widest"`: all of them to the same one. That is `half` if they are in `half` already, and else float32.
# - `""`, no list: as they are.
#
# Casts are for floats of 16 and 32 bits alone. Whole numbers, such as labels, stay what they are in every list. So does
# float64, for whoever asks for it wants its digits.

# %%
from jt_exercises import YourTurn, check, hint, solution

FLOATS = "float16", "bfloat16", "float32"  # what is cast


def policy(rule, dtypes, half):
    """To which dtypes arrays of these `dtypes`, a list of texts, are cast: another such list."""
    # BEGIN SOLUTION choose one dtype by the rule, and put it in place of those that are cast
    cast = [dtype for dtype in dtypes if dtype in FLOATS]
    same = all(dtype == half for dtype in cast)
    to = {"lower": half, "float32": "float32", "widest": half if same else "float32"}
    return [to[rule] if rule and dtype in FLOATS else dtype for dtype in dtypes]
    # END SOLUTION


check("12.2", policy)
