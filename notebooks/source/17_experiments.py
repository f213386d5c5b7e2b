# %% [markdown]
# # 17 Experiments
# %% exercise 17.1
# %% exercise 17.2
