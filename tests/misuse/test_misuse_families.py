"""Wrong calls of every family: each is a clear error with the bad value in it, and the next right call works."""

import importlib
import pkgutil

import numpy as np
import pytest

import jt_edu as jt
import tests.misuse

FAMILIES = sorted(m.name for m in pkgutil.iter_modules(tests.misuse.__path__) if not m.name.startswith("test_"))
CALLS = [(family, *call) for family in FAMILIES for call in importlib.import_module(f"tests.misuse.{family}").CALLS]
BARE = ("Traceback", "object at 0x", "numpy.core", "torch")


@pytest.mark.parametrize(("call", "error", "says"), [pytest.param(*c[2:], id=f"{c[0]}-{c[1]}") for c in CALLS])
def test_a_wrong_call_says_what_was_asked_and_found(call, error, says):
    def whole_call():
        answer = call()
        return answer.sync() if isinstance(answer, jt.Var) else answer

    with jt.flag_scope(backend="python"):
        with pytest.raises(error, match=says) as found:
            whole_call()

        assert isinstance(found.value, jt.JtError), type(found.value)
        assert not any(word in str(found.value) for word in BARE)
        np.testing.assert_array_equal((jt.array([1.0, 2.0]) + 1).numpy(), [2, 3])


def test_there_are_more_than_150_of_them():
    assert len(CALLS) >= 150
