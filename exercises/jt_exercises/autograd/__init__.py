"""Notebook 01: backward by hand. A folder for each exercise; `numbers` is what they are asked about."""
