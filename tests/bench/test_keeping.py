"""What malloc keeps is told apart from what it gives back."""

import subprocess
import sys

import pytest

from tests.bench import report
from tests.bench.rows import Figures
from tests.house.plan import ROOT

# In a process of its own: what other tests have freed may have room for the large block.
ASKED = """
import ctypes
from itertools import count
import numpy as np
from tests.bench import keeping

NO_HUGE_PAGES = 41  # of prctl: how many huge ones a system has to give is nobody's business here
ctypes.CDLL(None).prctl(NO_HUGE_PAGES, 1, 0, 0, 0)

def touched():
    np.empty(48 << 20, np.uint8)[::4096] = 1  # glibc never keeps so large a block by itself

ticks = count()
found = [keeping.faults(touched) >= keeping.FEWEST]
with keeping.keeping() as kept:
    found += [kept, keeping.faults(touched) < keeping.FEWEST]
found.append(keeping.faults(touched) >= keeping.FEWEST)
found.append(keeping.best_kept(lambda: None, lambda: next(ticks)) is None)
found.append((keeping.best_kept(touched, lambda: next(ticks)) or 0) > 0)
print(found)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is glibc's")
def test_a_large_block_has_faults_but_not_while_malloc_keeps_it_and_is_then_timed_once_more():
    run = subprocess.run([sys.executable, "-c", ASKED], cwd=ROOT, capture_output=True, text=True, check=False)

    assert run.stdout.split() == str([True] * 6).split(), run.stderr


def test_the_ratio_without_faults_stands_behind_where_it_differs():
    assert report.ratio_of(Figures(ratio=3.0, kept=1.5)) == "3.00 (kept 1.50)"
    assert report.ratio_of(Figures(ratio=3.0, kept=3.0)) == "3.00"
    assert report.ratio_of(Figures(ratio=3.0)) == "3.00"
    assert report.ratio_of(Figures()) == ""
