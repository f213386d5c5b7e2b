# %% [markdown]
# ## 7. Exercise 01.7: a checker is only as good as its inputs
#
# Five rules follow, and four of them are wrong. `caught` compares each with central differences at the points in
# `places`. With `places = [1.0]` not one is caught.
#
# **Your turn**: find at most four places that catch all four wrong rules, without blaming the rule that is right.
# Then ask yourself which mistakes each place reveals. At 0 the checker misses `log` and `x ** 3`. Why?
#
# <details><summary>Why it misses them</summary> At 0 the wrong rule for `x ** 3` gives 0, which is right. A logarithm
# exists only above 0, so `caught` does not try it there. </details>

# %%
import math

from jt_exercises import check, hint, solution

rules = {
    "log": (math.log, lambda x: float(x == 1)),
    "abs": (abs, lambda x: 1.0),
    "x ** 3": (lambda x: x**3, lambda x: 3 * x),
    "sqrt(x * x + 3)": (lambda x: math.sqrt(x * x + 3), lambda x: 0.5),
    "tanh": (math.tanh, lambda x: 1 - math.tanh(x) ** 2),
}


def caught(places):
    """The rules that some place shows to be wrong."""
    found = []
    for name, (function, rule) in rules.items():
        usable = [x for x in places if x > 0.01 or name != "log"]
        if any(abs((function(x + 1e-5) - function(x - 1e-5)) / 2e-5 - rule(x)) > 1e-3 for x in usable):
            found.append(name)
    return found


places = [1.0]
# BEGIN SOLUTION put other places into the list
places = [-1.5, 2.0]
# END SOLUTION
check("01.7", places)
