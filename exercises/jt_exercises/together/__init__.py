"""Notebook 13b: training together. A folder for each exercise; `training` is a network that several ranks train."""
