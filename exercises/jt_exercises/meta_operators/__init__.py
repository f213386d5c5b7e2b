"""Notebook 02: meta-operators. A folder for each exercise; `loops` has the operators as plain loops, `built` judges."""
