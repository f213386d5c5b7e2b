"""Notebook 03: fusion. A folder for each exercise; `cases` has what several of them ask about."""
