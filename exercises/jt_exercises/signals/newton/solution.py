# %% [markdown]
# ## 11. Exercise 16.4: a step of Newton
#
# Gradient descent knows how steep a surface is, and has to be told how far to go. Newton's step looks at how it
# *bends*, too. The second derivatives form a matrix, the *Hessian* h; after a step s the gradient g has become about
# g + h s. Go to where that is zero. `jt.func.grad(f)` and `jt.func.hessian(f)` are functions of x, and
# `jt.linalg.solve(h, g)` is the vector that h turns into g: an inverse would cost more time, and more digits.
#
# Where the surface bends up in all directions, as a bowl does, that is downhill. Near a saddle it bends down in some
# direction, and there Newton climbs, to where the slope ends. So write `careful`, too: with `w, v = jt.linalg.eigh(h)`,
# it goes down the slope along each column of v, and divides by |w|, by how strongly the surface bends there, or by
# `least` where that is larger. In a bowl that is Newton's step.

# %%
import jt_edu as jt
from jt_exercises import YourTurn, check, hint, solution


def newton(f, x):
    """The place after one step from x, (n,), down the surface f."""
    # BEGIN SOLUTION return where the gradient is going to be zero
    return x - jt.linalg.solve(jt.func.hessian(f)(x), jt.func.grad(f)(x))
    # END SOLUTION


def careful(f, x, least=0.1):
    """The same, but always downhill."""
    # BEGIN SOLUTION divide the slope along each axis by how strongly f bends there
    w, v = jt.linalg.eigh(jt.func.hessian(f)(x))
    slope = v.T @ jt.func.grad(f)(x)
    return x - v @ (slope / jt.maximum(w.abs(), least))
    # END SOLUTION


check("16.4", newton, careful)
