"""Notebook: a piece of a notebook on several ranks, each of which has names of its own."""
