# %% [markdown]
# ## Exercise 03.3: no kernel may wait for itself
#
# Suppose that `matmul` reads `scale`, and `add` reads both. Taken by themselves, `scale` and `add` could be fused. But
# their kernel would need the result of `matmul`, and `matmul` needs `scale` from that kernel. Neither could run first:
# that is a **cycle**.
#
# Write `group`. It gets the names in the order in which the operators were written (inputs first), what each reads,
# and the pairs that may be fused; it returns a group for each name. Fuse pairs where that makes no cycle, until no pair
# is left that could still be fused. For the graph above a right answer is `{"scale": 0, "matmul": 1, "add": 2}`. If
# `add` did not read `matmul`, `scale` and `add` would share a group.

# %%
from jt_exercises import YourTurn, check, hint, solution


def group(order, inputs, may):
    """{name: group} for names such as "add", inputs such as {"add": ("scale", "matmul")}, may = {("scale", "add")}."""
    # BEGIN SOLUTION fuse pairs where that makes no cycle

    def can_run(home):
        """Whether the groups can run one after another: what reads only groups that are done is done next."""
        done, left = set(), set(home.values())
        while left:
            waits = {home[n] for n in order for i in inputs[n] if home[i] != home[n] and home[i] not in done}
            if left <= waits:
                return False
            done, left = done | (left - waits), left & waits
        return True

    home = {name: name for name in order}
    pairs = [(i, n) for n in order for i in inputs[n] if (i, n) in may]
    for a, b in pairs * len(pairs):  # again, since a pair may become possible when others have been fused
        joined = {name: home[a] if h == home[b] else h for name, h in home.items()}
        if can_run(joined):
            home = joined
    return home
    # END SOLUTION


check("03.3", group)
