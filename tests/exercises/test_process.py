"""A learner's objects in a process of their own: plain values come back, and nothing that they do reaches us."""

import ctypes
import os
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

import jt_edu as jt
from jt_exercises.fusion.cases import Value
from jt_exercises.process import COPY, Forked, Handle, Here, LostError, RaisedError, receive, send
from jt_exercises.verdict import NotDoneError, RefusedError, YourTurn, ask, short
from jt_exercises.wire import WireError, pack, unpack

only_forked = pytest.mark.skipif(not COPY, reason="processes are not copied here")
SIDES = [pytest.param(Here, id="here"), pytest.param(Forked, id="forked", marks=only_forked)]


def found_in(text, part):
    return text.index(part, 1), os.getpid()


class Always:
    """Says that it is equal to everything."""

    def __eq__(self, other):
        return True

    __hash__ = None


class Odd(int):
    """Is 3, and says that it is whatever is asked for."""

    def __eq__(self, other):
        return True

    def __int__(self):
        return 7

    __hash__ = int.__hash__


VALUES = [
    None, True, 3, -(1 << 80), 2.5, float("inf"), "ä`\n", 1 + 2j, [1, [2]], (1, (2,)), {1, 2},
    {"a": 1, (1, 2): [None]}, (), {},
]  # fmt: skip
ARRAYS = [
    np.arange(6.0).reshape(2, 3), np.array(2, np.float32), np.zeros((0, 3)), np.array([True]),
    np.asfortranarray(np.eye(3)),
]  # fmt: skip


@pytest.mark.parametrize("make", SIDES)
def test_plain_values_come_back_as_they_are(make):
    with make([lambda v: v]) as side:
        (same,) = side.answers()
        for value in VALUES:
            found = same(value)
            assert (found, type(found)) == (value, type(value))
        for number in (np.float32(2.5), np.int64(3), np.bool_(True)):
            assert type(found := same(number)) is type(number.item()) and found == number
        for array in ARRAYS:
            np.testing.assert_array_equal(found := same(array), array)
            assert found.dtype == array.dtype and found.shape == np.shape(array)


@pytest.mark.parametrize("make", SIDES)
def test_what_compares_as_it_likes_comes_back_as_what_it_is(make):
    with make([lambda: Odd(3), Always, lambda: jt.ones(2)]) as side:
        odd, always, var = side.answers()

        assert type(odd()) is int and odd() == 3
        assert isinstance(always(), Handle) and always() != 3
        assert var().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("make", SIDES)
def test_a_text_is_known_here_and_tried_there(make):
    with make(["def f(): pass", 3]) as side:
        text, number = side.answers()

        assert (text, number, short(text)) == ("def f(): pass", 3, "'def f(): pass'")
        assert text.through(found_in, "f") == (2, os.getpid() if make is Here else side.pid)
        assert ask(text, "f", through=found_in) == text.through(found_in, "f")
        for given, through in ((text, None), (None, found_in)):
            with pytest.raises(RefusedError, match=r"takes a function, not (None|'def)"):
                ask(given, through=through)


@pytest.mark.parametrize("make", SIDES)
def test_functions_of_ours_are_called_here(make):
    seen = []
    with make([lambda clock: [clock(1), clock(2)]]) as side:
        (twice,) = side.answers()

        assert twice(lambda v: seen.append(v) or v * 10) == [10, 20]
    assert seen == [1, 2]


@pytest.mark.parametrize("make", SIDES)
def test_what_is_no_plain_value_stays_and_can_be_called(make):
    with make([lambda k: lambda v: v + k]) as side:
        (adder,) = side.answers()

        assert adder(3)(4) == 7


@pytest.mark.parametrize("make", SIDES)
def test_an_error_is_told_with_the_learners_line(make):
    def wrong(x):
        return [][x]

    with make([wrong]) as side:
        (answer,) = side.answers()
        with pytest.raises(RaisedError) as found:
            answer(3)
        with pytest.raises(
            RefusedError, match=r"wrong\(3\) stopped with IndexError: .* \(line \d+: `return \[\]\[x\]`\)"
        ):
            ask(answer, 3)

    assert (found.value.kind, found.value.text) == ("IndexError", "return [][x]")


@pytest.mark.parametrize("make", SIDES)
def test_a_gap_that_nobody_filled_is_not_wrong(make):
    def empty():
        raise YourTurn("add them")

    with make([empty]) as side, pytest.raises(NotDoneError, match="add them"):
        ask(side.answers()[0])


def endless():
    while True:
        pass


def crash():
    ctypes.string_at(0)


def leaves():
    os._exit(0)


def huge():
    return np.ones(1 << 40)


def long():
    return "x" * (65 << 20)


def exits():
    sys.exit(3)


@only_forked
@pytest.mark.parametrize(("function", "words"), [
    (endless, "did not end within 1 s"), (crash, "SIGSEGV"), (leaves, "made Python exit"), (huge, "MemoryError"),
    (long, "more than 64 MB"), (exits, "SystemExit"),
])  # fmt: skip
def test_nothing_that_an_answer_does_ends_us(function, words):
    with Forked([function], seconds=1 if function is endless else 60) as side, pytest.raises(RefusedError, match=words):
        ask(side.answers()[0])


@only_forked
def test_after_a_loop_that_never_ends_the_next_question_does_not_wait():
    with Forked([endless, lambda: 3], seconds=1) as side:
        forever, three = side.answers()
        for answer in (forever, three, forever):
            with pytest.raises(LostError, match="did not end within 1 s"):
                answer()
        assert not side.pid


@only_forked
def test_an_answer_that_closes_its_pipe_and_goes_on_is_ended():
    def closes():
        os.closerange(3, 4000)
        while True:
            pass

    with Forked([closes]) as side, pytest.raises(LostError, match="it no longer answers"):
        side.answers()[0]()


@only_forked
def test_no_process_is_left_and_what_changed_there_did_not_change_here():
    numbers = []

    def adds():
        numbers.append(1)
        return len(numbers)

    with Forked([adds]) as side:
        (answer,) = side.answers()
        assert [answer(), answer()] == [1, 2]
        pid = side.pid
    assert numbers == []
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@only_forked
def test_kernels_run_in_the_copy():
    with Forked([lambda v: (jt.array(v) * 2 + 1).sum().item()]) as side:
        assert side.answers()[0](np.ones(1000, np.float32)) == 3000.0


@pytest.mark.parametrize("message", [
    b"", b"abc", b"\xff" * 16, pack([1], None)[:-1], b"\x02" + bytes(7) + b"{}", b"\x03" + bytes(7) + b"[1]",
    b"\x0b" + bytes(7) + b'{"array":0}', b"\x0b" + bytes(7) + b'{"nobody":1}'[:11], b"\x08" + bytes(7) + b"[" * 8,
])  # fmt: skip
def test_bytes_that_are_no_message_are_refused(message):
    with pytest.raises(WireError):
        unpack(message, None)


def test_an_array_that_claims_to_be_large_is_refused_before_memory_is_taken():
    data = pack(np.ones(3), None)
    for wrong in (data.replace(b"(3,)", b"(9,)"), data.replace(b"'<f8'", b"'|O' "), data.replace(b"(3,)", b"(1<<40,)")):
        with pytest.raises(WireError):
            unpack(wrong, None)


def test_mutated_messages_raise_no_other_error(rng):
    data = pack({"a": [1, np.arange(4)], "b": (1.5, "text", {2})}, None)
    for _ in range(3000):
        other = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            other[rng.integers(len(other))] = rng.integers(256)
        with suppress(WireError):
            unpack(bytes(other[: rng.integers(len(other)) + 1]), lambda told: told)


def test_a_pipe_that_says_nothing_is_not_waited_for_for_ever():
    reads, writes = os.pipe()
    with pytest.raises(TimeoutError):
        receive(reads, time.monotonic() + 0.01)
    send(writes, b"here")
    assert receive(reads) == b"here"
    os.close(writes)
    with pytest.raises(EOFError):
        receive(reads)
    os.close(reads)


def test_lost_answers_are_told_in_words():
    with Here([lambda: None]) as side:
        (answer,) = side.answers()
        side.exchange = lambda _: (_ for _ in ()).throw(LostError("it is gone"))
        with pytest.raises(RefusedError, match="is gone"):
            ask(answer)


def test_a_var_and_a_record_of_the_course_arrive_as_such():
    value = Value("exp", "elementwise", False, 20, (2, 3))

    there = unpack(pack({"v": value, "x": jt.array([1.0, 2.0])}, None, trusted=True), None, trusted=True)

    assert there["v"] == value
    assert isinstance(there["x"], jt.Var)


@pytest.mark.parametrize("value", [Value("exp", "elementwise", False, 20, (2, 3)), jt.ones(2)])
def test_of_an_answer_neither_a_record_nor_a_var_is_taken(value):
    message = pack(value, None, trusted=True)

    with pytest.raises(WireError, match="a kind that is not taken"):
        unpack(message, None)


@pytest.mark.parametrize("kind", SIDES)
def test_an_error_of_a_function_of_ours_goes_to_who_called_it_and_a_judgement_counts(kind):
    def ours(size):
        if size > 8:
            raise RefusedError("nobody asked for so many")
        if size > 4:
            raise ValueError("a tile of 5 does not fit")
        return size

    def largest(run, sizes):
        found = 0
        for size in sizes:
            try:
                found = run(size)
            except (ValueError, RuntimeError):
                break
        return found

    with kind([largest]) as side:
        (answer,) = side.answers()
        assert answer(ours, [2, 3, 5]) == 3
        with pytest.raises(RefusedError, match="nobody asked"):
            answer(ours, [2, 9])
        assert answer(ours, [4]) == 4  # both sides know where they are


@pytest.mark.parametrize("key", ["{}", '{{"tuple": [{}]}}', '{{"tuple": [{{"tuple": [{}]}}]}}'])
@pytest.mark.parametrize("many", ['{{"set": [{}]}}', '{{"dict": [[{}, 1]]}}'])
def test_no_key_is_a_number_that_python_puts_where_others_are(key, many):
    text = many.format(key.format(5 * (2**61 - 1))).encode()

    with pytest.raises(WireError, match="more than 60 bits"):
        unpack(len(text).to_bytes(8, "little") + text, None)
