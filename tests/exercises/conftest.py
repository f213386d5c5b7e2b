"""What a notebook sets, it sets for itself: the next test finds as many threads as before."""

import pytest

from jt_edu.backends import thread_pool


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = thread_pool.threads()
    yield
    thread_pool.set_num_threads(before)
