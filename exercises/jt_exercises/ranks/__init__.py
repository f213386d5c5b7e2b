"""Notebook 13: many ranks. A folder for each exercise; `probes` runs a function on ranks, `judging` asks for that."""
