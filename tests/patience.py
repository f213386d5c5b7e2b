"""Patience: wait for what will happen, however slow the machine is."""

import time

LONG = 120  # seconds: nothing that goes well takes as long


def until(happened):
    """Come back when it has happened."""
    end = time.monotonic() + LONG
    while not happened():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.001)
