# %% [markdown]
# ### Exercise 04.5: numbers at once
#
# Write `at_once`: with how many numbers does an instruction compute? One that only moves numbers (its name holds `mov`,
# `broadcast`, `insert`, `extract`, `gather` or `scatter`) or sets them to 0 (`xor`) computes with none: 0. So does
# whatever else has none of the four endings.

# %%
from jt_exercises import YourTurn, check, hint, solution


def at_once(instruction):
    """16 for "vaddps %zmm1, %zmm2, %zmm3"."""
    # BEGIN SOLUTION return with how many numbers it computes
    name = instruction.split()[0]
    if any(word in name for word in ("mov", "broadcast", "insert", "extract", "gather", "scatter", "xor")):
        return 0
    for register, many in (("zmm", 16), ("ymm", 8), ("xmm", 4)):
        if register in instruction:
            return {"ps": many, "pd": many // 2, "ss": 1, "sd": 1}.get(name[-2:], 0)
    return 0
    # END SOLUTION


check("04.5", at_once)
