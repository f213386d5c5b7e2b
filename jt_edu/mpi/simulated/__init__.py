"""Simulated: programs on ranks of this process, once or in all their possible ways."""
