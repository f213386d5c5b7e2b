"""What a notebook sets, it sets for itself: the next test finds as many threads as before."""

import pytest

from jt_edu.backends import pool


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = pool.threads()
    yield
    pool.set_num_threads(before)
