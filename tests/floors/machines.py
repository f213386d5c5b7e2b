"""Machines that are made up, for tests that need round roofs."""

import sys

import jt_edu.lens.machine  # noqa: F401  `jt_edu.lens.machine` itself is the function

module = sys.modules["jt_edu.lens.machine"]


def made(**changes):
    """100 Gflop/s and 10 GB/s: the ridge is at 10 operations per byte."""
    facts = {
        "cpu": "made up", "threads": 2, "copy_bytes_per_second": 1e10, "read_bytes_per_second": 1e10,
        "one_thread_flops_per_second": 5e10, "all_threads_flops_per_second": 1e11, "product_flops_per_second": 9e10,
        "cache_bytes": 1 << 20, "array_bytes": 1 << 26, "disturbed": False,
    }  # fmt: skip
    return module.Machine(**{**facts, **changes})
