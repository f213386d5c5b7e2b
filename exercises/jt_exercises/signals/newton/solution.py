# %% [markdown]
# ## 11. Exercise 16.4: a step of Newton
#
# Gradient descent knows how steep a surface is, but you have to tell it how far to go. Newton's step also looks at how
# the surface *bends*. The second derivatives of f form a matrix, the *Hessian* h. After a step s, the gradient g has
# become about g + h s. Newton chooses the s for which that is zero. `jt.func.grad(f)` and `jt.func.hessian(f)` are
# functions of x. `jt.linalg.solve(h, g)` is the vector that h turns into g. (An inverse would cost more time and more
# digits.)
#
# Where the surface bends up in all directions, as a bowl does, this step goes down to a minimum. At a *saddle* the
# gradient is zero, too, but there the surface bends up in one direction and down in another, and near it Newton climbs
# towards the saddle. So write `careful` as well, which always goes down. With `w, v = jt.linalg.eigh(h)`, the columns
# of v are axes, and w[k] is the bend along column k. An example: 2x² - y² bends up by 4 along x, and down by 2 along y.
# So w is (-2, 4), and the columns of v are (0, 1) and (1, 0). `v.T @ g` are the slopes along these axes. Go down along
# each axis: divide its slope by |w[k]|, or by `least` where |w[k]| is smaller. In a bowl that is Newton's step.

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
