"""Answers that are not right though they look it are refused, and right ones in another dress are not."""

from jt_exercises import matmul


def test_nothing_is_not_done_yet():
    assert matmul.check_order(None).passed is None
