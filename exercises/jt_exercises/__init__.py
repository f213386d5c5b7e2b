"""Exercises: `check` for learners in the notebook, `grade` for instructors, one folder for each exercise."""
