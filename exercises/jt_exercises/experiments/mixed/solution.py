# %% [markdown]
# ## 6. Exercise 17.2: two images in one
#
# Mixup and CutMix are one formula. `keep` has a number for each pixel, from 0 to 1: how much is kept of the image
# itself. The rest is seen of its partner. For Mixup, `keep` is the same number everywhere. For CutMix, it is 1, and 0
# in a box. The partner of image k is image `order[k]`.
#
# Write `mixed`, which returns both: the images, and labels that say how much of each class can be seen. All four
# arrays are NumPy's. (`labels[k]` has a number for each class, and they add up to 1.)

# %%
from jt_exercises import YourTurn, check, hint, solution


def mixed(images, labels, keep, order):
    """(n, c, h, w), (n, classes), (h, w), (n,) -> (n, c, h, w), (n, classes)"""
    # BEGIN SOLUTION mix each image with its partner, and then the labels
    share = keep.mean()
    return keep * images + (1 - keep) * images[order], share * labels + (1 - share) * labels[order]
    # END SOLUTION


check("17.2", mixed)
