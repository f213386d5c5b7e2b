"""Threads of one script share flags and numbers, and what one does at the moment is no affair of the others."""

import threading

import jt_edu as jt


def test_no_grad_in_two_threads_that_overlap_leaves_gradients_on_afterwards():
    inside, second = threading.Event(), threading.Event()

    def first():
        with jt.no_grad():
            inside.set()
            second.wait(60)

    def later():
        inside.wait(60)
        with jt.no_grad():
            second.set()
            a.join(60)

    a, b = threading.Thread(target=first), threading.Thread(target=later)
    a.start(), b.start()
    a.join(), b.join()

    x = jt.array([2.0])
    assert jt.grad((x * x).sum(), x).item() == 4.0


def test_no_grad_in_one_thread_stops_no_gradients_in_another():
    inside, done = threading.Event(), threading.Event()

    def evaluate():
        with jt.no_grad():
            inside.set()
            done.wait(60)

    thread = threading.Thread(target=evaluate)
    thread.start()
    inside.wait(60)
    x = jt.array([2.0])
    y = (x * x).sum()
    done.set()
    thread.join()

    assert y.requires_grad


def test_flags_and_the_seed_are_shared_by_threads():
    found = []
    with jt.flag_scope(backend="python"):
        thread = threading.Thread(target=lambda: found.append(jt.flags.backend))
        thread.start()
        thread.join()
    assert found == ["python"]
