"""Ranks: programs that run several times at once and speak to each other, simulated in one notebook or under mpirun.

See README.md in this folder for the rooms, in the order in which to read them.
"""
