"""Perf model: what would a program take on a machine that is not there? Schedules as data, closed forms, replays."""
