"""Notebook 17: experiments. A folder for each exercise, and `probes`, which look at what an answer leaves behind."""
