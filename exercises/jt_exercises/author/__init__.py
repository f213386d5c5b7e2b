"""For authors: what is never in a learner's package. `masters` reads solutions and wrong solutions."""
