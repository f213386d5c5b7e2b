# %% [markdown]
# ## 8. Exercise 11.4: a new question, ten images
#
# The network can tell ten digits apart. Now it has to say whether a digit is odd, and gets ten labelled images to learn
# that from, one of each digit. Write `new_head(net, classes)`. It freezes everything in `net`, puts a new `nn.Linear`
# in place of `net.fc`, and returns the parameters to train. In the backbone nothing may change, be it a weight or not.
#
# **Predict.** How many of the held-out digits does the new head get right? And how many does a network of the same kind
# that starts from nothing, and takes as many steps with the same ten images?

# %%
from jt_edu import nn
from jt_exercises import YourTurn, check, hint, solution


def new_head(net, classes):
    """Freeze net, give it a new head `fc`, and return the parameters to train."""
    # BEGIN SOLUTION freeze net, give it a new head, and return its parameters
    net.requires_grad_(False)
    net.eval()
    net.fc = nn.Linear(net.fc.weight.shape[1], classes)
    return net.fc.parameters()
    # END SOLUTION


check("11.4", new_head)
