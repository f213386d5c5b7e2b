"""Benchmarks: how fast is jt_edu, beside PyTorch and beside what the machine can do? `python -m tests.bench core`."""
