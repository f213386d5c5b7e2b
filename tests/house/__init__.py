"""Rules of the house that a machine can check. What they are is data, in `plan.py`."""
