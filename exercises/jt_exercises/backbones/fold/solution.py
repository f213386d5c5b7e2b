# %% [markdown]
# ## 7. Exercise 11.3: a batch norm that costs nothing
#
# A trained batch norm computes `(y - mean) / sqrt(var + eps) * gamma + beta`, with numbers that no longer change. Its
# `y` is the result of a convolution, a weighted sum. So the convolution alone can give the same result, with another
# weight and another bias. Write `fold`, which returns these two. The numbers of the formula are `bn.running_mean`,
# `bn.running_var`, `bn.eps`, `bn.weight` and `bn.bias`; except for `eps` there is one for each channel that comes out.
# The cell after it folds a copy of her network: it calls your `fold` for each batch norm behind a convolution.
#
# **Predict.** Her network has fewer operators then. Does it need fewer kernels? And how many times as fast is it?

# %%
from jt_exercises import YourTurn, check, hint, solution


def fold(conv, bn):
    """(weight, bias) with which the convolution does both."""
    # BEGIN SOLUTION return the weight and the bias
    scale = bn.weight / (bn.running_var + bn.eps).sqrt()
    begin = 0 if conv.bias is None else conv.bias
    return conv.weight * scale.reshape(-1, 1, 1, 1), bn.bias + (begin - bn.running_mean) * scale
    # END SOLUTION


check("11.3", fold)
