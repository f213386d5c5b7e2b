"""Notebook 10: what one step of learning does. `walks` takes such steps with a learner's functions."""
