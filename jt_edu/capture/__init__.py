"""Capture: steps that are recorded once and run again: `jt.compile`, and loops that repeat themselves."""
