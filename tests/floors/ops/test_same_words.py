"""An axis is called dim, dims, axis or axes, as each of three libraries calls it: every function knows all of them.

They mean the same but for three cases of decision 087, which test_array_api.py asks for: `sort` and `repeat` answer as
the library does whose word it is, and an empty tuple is no axis for `axis` and all of them for `dim`.
"""

import inspect

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.ops.arguments import SAME
from jt_edu.variable.var import Var

WORDS = {word for words in SAME if words[0] in ("dim", "keepdim", "dim1", "dim2") for word in words}
OTHERS = {  # what has such a word and means something else, or takes it without a name
    "index", "permute", "permute_dims", "ravel_multi_index", "repeat", "t", "tile", "transpose",
}  # fmt: skip


def functions():
    for home, names in ((jt, jt.__all__), (nn.functional, nn.functional.__all__), (nn.utils, nn.utils.__all__),
                        (Var, dir(Var))):  # fmt: skip
        for name in names:
            found = getattr(home, name)
            if name.startswith("_") or inspect.isclass(found) or not inspect.isroutine(found):
                continue
            if WORDS & set(inspect.signature(found).parameters) and name not in OTHERS:
                yield pytest.param(found, id=f"{home.__name__}.{name}")


@pytest.mark.parametrize("function", list(functions()))
def test_whoever_takes_an_axis_hears_all_its_names(function):
    own = inspect.signature(function).parameters
    for words in SAME:
        for word in words if WORDS & set(words) & set(own) else ():
            with pytest.raises(Exception) as refused:  # an argument is missing, or is no axis
                function(**{word: object()})

            assert f"unexpected keyword argument '{word}'" not in str(refused.value)


def test_a_word_that_no_argument_is_called_by_is_told_with_those_that_are():
    with pytest.raises(TypeError, match=r"^sum\(x, dim=None, .*\): got an unexpected keyword argument 'dimm'$"):
        jt.sum(jt.ones(2), dimm=0)
    with pytest.raises(TypeError, match=r"^argsort\(x, dim=None, .*'reverse'$"):
        jt.ones(2).argsort(axis=0, reverse=True)


X = np.arange(6.0, dtype="float32").reshape(2, 3)
PLACES = np.array([[0, 1, 1], [1, 0, 0]])
CALLS = {
    "slice_scatter": lambda x, i, **d: jt.slice_scatter(x, jt.ones(2, 1), start=1, end=2, **d),
    "select_scatter": lambda x, i, **d: jt.select_scatter(x, jt.ones(2), index=0, **d),
    "linear_recurrence": lambda x, i, **d: jt.linear_recurrence(x, x, **d),
    "gather": lambda x, i, **d: jt.gather(x, index=i, **d),
    "index_select": lambda x, i, **d: jt.index_select(x, index=i[0], **d),
    "scatter": lambda x, i, **d: jt.scatter(x, index=i, src=x, **d),
    "scatter_add": lambda x, i, **d: x.scatter_add(index=i, src=x, **d),
    "narrow": lambda x, i, **d: x.narrow(start=1, length=1, **d),
    "unflatten": lambda x, i, **d: jt.unflatten(x, sizes=(1, 3), **d),
    "stride": lambda x, i, **d: jt.array(x.stride(**d)),
    "weight_norm": lambda x, i, **d: nn.utils.weight_norm(of_ones(), **d).weight_g,
    "spectral_norm": lambda x, i, **d: nn.utils.spectral_norm(of_ones(), **d).weight_u.shape[0] * x,
}


def of_ones():
    layer = nn.Linear(2, 3)
    layer.weight = nn.Parameter(jt.ones(3, 2))
    return layer


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("word", ["dims", "axis", "axes"])
def test_each_name_means_the_same_axis(name, word):
    given = jt.array(X), jt.array(PLACES)

    with jt.flag_scope(backend="python"):
        np.testing.assert_array_equal(CALLS[name](*given, **{word: 1}).numpy(), CALLS[name](*given, dim=1).numpy())


def test_broadcast_hears_them_too():
    x = jt.array([1.0, 2.0])

    for word in ("dim", "axis", "axes", "dims"):
        assert x.broadcast((2, 2), **{word: [1]}).tolist() == [[1.0, 1.0], [2.0, 2.0]]


def test_an_axis_is_named_once():
    with pytest.raises(jt.ArgumentError, match="slice_scatter takes dim once"):
        jt.slice_scatter(jt.zeros(2, 2), jt.ones(1, 2), 0, axis=1)


# ------------------------------------------------------------------------------------- words of NumPy and the standard

TABLE = jt.array(X)
STANDARD = {
    "reshape": (lambda: TABLE.reshape(shape=(3, 2)), lambda: X.reshape(3, 2)),
    "reshape by size": (lambda: TABLE.view(size=(3, 2)), lambda: X.reshape(3, 2)),
    "roll": (lambda: jt.roll(TABLE, shift=1, axis=0), lambda: np.roll(X, 1, 0)),
    "permute": (lambda: jt.permute(TABLE, axes=(1, 0)), lambda: X.T),
    "permute by dims": (lambda: TABLE.permute(dims=(1, 0)), lambda: X.T),
    "permute_dims": (lambda: jt.permute_dims(TABLE, axes=(1, 0)), lambda: X.T),
    "transpose": (lambda: jt.transpose(TABLE, axes=(1, 0)), lambda: X.T),
    "transpose by two": (lambda: jt.transpose(TABLE, dim0=0, dim1=1), lambda: X.T),
    "expand": (lambda: TABLE[:1].expand(size=(2, 3)), lambda: np.broadcast_to(X[:1], (2, 3))),
    "tile": (lambda: jt.tile(TABLE, reps=(1, 2)), lambda: np.tile(X, (1, 2))),
    "new_zeros": (lambda: TABLE.new_zeros(size=(2,)), lambda: np.zeros(2, np.float32)),
    "take": (lambda: jt.take(TABLE, indices=[1], axis=1), lambda: np.take(X, [1], 1)),
    "concat": (lambda: jt.concat(arrays=[TABLE, TABLE], axis=1), lambda: np.concatenate([X, X], 1)),
    "diag_embed": (lambda: jt.diag_embed(TABLE[0], axis1=0, axis2=1), lambda: np.diag(X[0])),
    "norm": (lambda: jt.norm(TABLE, ord=1, axis=1), lambda: np.linalg.norm(X, 1, 1)),
    "norm of a matrix": (lambda: jt.norm(TABLE, ord=1), lambda: np.linalg.norm(X, 1)),
    "norm by rows": (lambda: jt.norm(TABLE, ord=-np.inf, keepdims=True),
                     lambda: np.linalg.norm(X, -np.inf, keepdims=True)),
    "norm of Frobenius": (lambda: jt.norm(TABLE, ord="fro"), lambda: np.linalg.norm(X, "fro")),
    "norm of columns of a stack": (lambda: jt.norm(jt.stack([TABLE, TABLE]), ord=np.inf, axis=(2, 1)),
                                   lambda: np.linalg.norm(np.stack([X, X]), np.inf, (2, 1))),
    "softmax layer": (lambda: nn.Softmax(axis=0)(TABLE), lambda: np.exp(X) / np.exp(X).sum(0)),
}  # fmt: skip


@pytest.mark.parametrize(("ours", "theirs"), STANDARD.values(), ids=STANDARD)
def test_words_of_numpy_and_of_the_array_api_standard_are_taken(ours, theirs):
    with jt.flag_scope(backend="python"):
        np.testing.assert_allclose(ours().numpy(), theirs(), rtol=1e-6)


def test_a_copy_is_made_where_one_is_asked_for_and_only_there():
    array, x = np.ones(2, np.float32), jt.array([1.0, 2.0])

    shared, copied = jt.array(array, copy=False), jt.array(array)
    array[0] = 5

    assert (shared.tolist(), copied.tolist()) == ([5.0, 1.0], [1.0, 1.0])
    assert np.shares_memory(jt.array(array, copy=None).numpy(), array)
    assert jt.array(x, copy=False) is x is jt.array(x, copy=None) is x.astype("float32", copy=False)
    assert jt.array(x, copy=True) is not x is not x.astype("float32", copy=True)
    assert jt.array([1, 2], copy=None).tolist() == jt.array(x, "int64", copy=None).tolist() == [1, 2]
    assert np.shares_memory(x.reshape(2, 1).numpy(), x.numpy())
    assert not np.shares_memory(x.reshape(2, 1, copy=True).numpy(), x.numpy())
    for refused in (
        lambda: jt.array([1.0], copy=False),
        lambda: jt.array(x, "float64", copy=False),
        lambda: jt.array(array[::-1], copy=False),
        lambda: jt.array(np.ones(2), "float32", copy=False),
        lambda: jt.array(x, copy="no"),
        lambda: x.reshape(2, copy="no"),
        lambda: x.astype(x.dtype, copy=2),
    ):
        with pytest.raises(jt.ArgumentError, match="copy"):
            refused()  # fmt: skip


@pytest.mark.parametrize("call", [
    lambda: jt.norm(TABLE, ord=2), lambda: jt.norm(TABLE, ord="nuc"), lambda: jt.norm(jt.ones(2, 2, 2), ord=1),
    lambda: jt.permute(TABLE, (1, 0), axes=(1, 0)), lambda: jt.tile(TABLE, reps=2, dims=2),
    lambda: jt.full((2,), 7, size=(2,)), lambda: jt.linspace(0, 1, 3, steps=3), lambda: jt.arange(),
])  # fmt: skip
def test_what_is_said_twice_or_is_not_known_is_refused_in_words(call):
    with pytest.raises(jt.ArgumentError):
        call()


def axes_of_everybody():
    homes = (jt, jt.__all__), (nn, nn.__all__), (nn.functional, nn.functional.__all__), (Var, dir(Var))
    for home, names in homes:
        for name in names:
            found = getattr(home, name)
            if name[0] != "_" and callable(found) and (inspect.isclass(found) or inspect.isroutine(found)):
                yield f"{home.__name__}.{name}", found


PAIRS = [("dim", "axis"), ("dims", "axis"), ("keepdim", "keepdims"), ("dim1", "axis1"), ("dim2", "axis2")]
MEANT = {"index", "ravel_multi_index", "permute", "permute_dims", "transpose", "t", "repeat", "tile"}


def test_a_signature_shows_both_words_wherever_both_are_taken():
    alone = []
    for name, found in axes_of_everybody():
        try:
            shown = set(inspect.signature(found).parameters)
        except ValueError:
            continue
        pairs = [pair for pair in PAIRS if pair[0] in shown and pair[1] not in shown]
        alone += [name for pair in pairs if name.rpartition(".")[2] not in MEANT]

    assert len(list(axes_of_everybody())) > 800
    assert alone == []
    assert "keepdims: 'bool' = False" in str(inspect.signature(jt.Var.sum))
    assert {"stop", "num"} < set(inspect.signature(jt.linspace).parameters)


def test_notebooks_complete_both_words():
    completer = pytest.importorskip("IPython.core.completer").IPCompleter(namespace={})

    for call in (jt.sum, TABLE.sum, jt.softmax, nn.Softmax):
        assert {"dim", "axis"} <= set(completer._default_arguments(call))
