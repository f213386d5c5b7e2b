"""Operators: one family a file, all written with the three meta-operators and Var arithmetic."""
