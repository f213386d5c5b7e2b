"""An axis is called dim, dims, axis or axes, as each of three libraries calls it: every function knows all of them."""

import inspect

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.ops.arguments import SAME
from jt_edu.var import Var

WORDS = {word for words in SAME if words[0] in ("dim", "keepdim", "dim1", "dim2") for word in words}
OTHERS = {  # what has such a word and means something else, or takes it without a name
    "index", "permute", "permute_dims", "ravel_multi_index", "t", "transpose",
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
