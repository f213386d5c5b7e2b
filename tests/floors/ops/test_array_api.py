"""jt is a namespace of the Python array API standard, and SciPy recognises a Var; NumPy and PyTorch are the oracles."""

import inspect
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import jt_edu as jt
from jt_edu.base.dtypes import DTYPES

pytestmark = pytest.mark.usefixtures("python_backend")

ROOT = Path(__file__).resolve().parents[3]
NAMES = """
    e inf nan newaxis pi bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
    arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros
    zeros_like astype broadcast_arrays broadcast_to can_cast finfo iinfo isdtype result_type abs acos acosh add asin
    asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil
    clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite
    isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum
    minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh
    square sqrt subtract tan tanh trunc take take_along_axis matmul matrix_transpose tensordot vecdot concat expand_dims
    flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack argmax argmin count_nonzero nonzero
    searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort cumulative_prod cumulative_sum
    max mean min prod std sum var all any diff __array_api_version__ __array_namespace_info__
"""
OF_ARRAYS = """
    T mT device dtype ndim shape size to_device __abs__ __add__ __and__ __array_namespace__ __bool__ __complex__
    __dlpack__ __dlpack_device__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__
    __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__
    __sub__ __truediv__ __xor__ __imatmul__ __rmatmul__ __rpow__ __ilshift__
"""
PLAIN = [name for name in DTYPES if name != "bfloat16"]  # those that NumPy has


# ------------------------------------------------------------------------------------------------------- the namespace


def test_every_name_of_the_standard_is_there():
    assert [name for name in NAMES.split() if not hasattr(jt, name)] == []
    assert [name for name in OF_ARRAYS.split() if not hasattr(jt.ones(1, 1), name)] == []


def test_a_var_names_its_namespace():
    x = jt.ones(2)

    assert x.__array_namespace__() is x.__array_namespace__(api_version="2022.12") is jt
    with pytest.raises(jt.ArgumentError, match=r"array API standard of 2024\.12; found api_version='2019'"):
        x.__array_namespace__(api_version="2019")


def test_the_namespace_says_what_it_can_do():
    info = jt.__array_namespace_info__()

    assert info.default_device() in info.devices() == ["cpu"]
    assert info.default_dtypes(device="cpu")["real floating"] is jt.asarray(0.5).dtype
    assert info.default_dtypes()["indexing"] is jt.argmax(jt.ones(2)).dtype
    assert info.dtypes(kind="unsigned integer") == {n: getattr(jt, n) for n in ("uint8", "uint16", "uint32", "uint64")}
    assert len(info.dtypes(device="cpu")) == 13
    assert info.capabilities()["boolean indexing"] is info.capabilities()["data-dependent shapes"] is True
    with pytest.raises(jt.ArgumentError, match="device='cuda'"):
        info.dtypes(device="cuda")


PLACES = {  # what may be given by place and by name
    "arange": ["stop", "step"], "clip": ["min", "max"], "expand_dims": ["axis"], "full": ["fill_value"],
    "full_like": ["fill_value"], "permute_dims": ["axes"], "reshape": ["shape"], "roll": ["shift"],
    "squeeze": ["axis"],
}  # fmt: skip
BY_NAME = {
    "arange": "dtype device", "astype": "copy device", "empty": "dtype device", "eye": "k dtype device",
    "full": "dtype device", "linspace": "dtype device endpoint", "ones_like": "dtype device", "repeat": "axis",
    "tensordot": "axes", "unstack": "axis", "zeros": "dtype device", "sum": "axis dtype keepdims",
    "std": "axis correction keepdims", "argsort": "axis descending stable", "roll": "axis", "reshape": "copy",
}  # fmt: skip


def test_signatures_show_the_words_of_the_standard():
    for name, words in PLACES.items():
        assert list(inspect.signature(getattr(jt, name)).parameters)[1 : 1 + len(words)] == words, name
    for name in ("zeros", "ones", "empty", "full"):
        assert next(iter(inspect.signature(getattr(jt, name)).parameters)) == "shape"
    for name, words in BY_NAME.items():
        assert {*words.split()} <= set(inspect.signature(getattr(jt, name)).parameters), name


def test_the_bool_of_jt_is_a_dtype_and_a_star_does_not_take_it():
    assert (jt.bool, jt.bool([0, 2]).tolist()) == ("bool", [False, True])
    assert "bool" not in jt.__all__


# -------------------------------------------------------------------------------------------------------------- dtypes

KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
         "complex floating": "c", "numeric": "iufc"}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_holds_the_dtypes_that_numpy_counts_to_it(kind):
    assert [jt.isdtype(d, kind) for d in PLAIN] == [np.isdtype(np.dtype(d), kind) for d in PLAIN]
    assert jt.isdtype("bfloat16", kind) is ("f" in KINDS[kind])


def test_a_dtype_is_of_itself_and_of_one_of_several_kinds():
    assert jt.isdtype(jt.int8, jt.int8) is jt.isdtype("int8", ("bool", jt.int8)) is True
    assert jt.isdtype(jt.int8, jt.int16) is jt.isdtype(jt.int8, ("bool", "real floating")) is False
    with pytest.raises(jt.ArgumentError, match=r"one of 'bool', .*; found kind='float'"):
        jt.isdtype(jt.int8, "float")


def test_dtypes_meet_and_are_cast_as_in_numpy():
    for a, b in itertools.product(PLAIN, PLAIN):
        assert jt.promote_types(a, b) == jt.result_type(a, jt.ones(1, dtype=b)) == np.promote_types(a, b).name
        assert jt.can_cast(a, b) is jt.can_cast(jt.ones(1, dtype=a), b) is np.can_cast(a, b)


def test_bare_numbers_give_way():
    assert (jt.result_type("int8", 1), jt.result_type(2.5, "float16"), jt.result_type(1j, "float32")) == (
        "int8", "float16", "complex64",
    )  # fmt: skip
    assert (jt.result_type(1, 2.5), jt.result_type(True, 1), jt.result_type(np.float64(1), "int8")) == (
        "float32", "int64", "float64",
    )  # fmt: skip
    with pytest.raises(jt.ArgumentError, match="found nothing"):
        jt.result_type()


def test_limits_of_floats_are_those_of_pytorch_and_numpy(torch):
    for name in ("float16", "bfloat16", "float32", "float64"):
        ours, theirs = jt.finfo(name), torch.finfo(getattr(torch, name))
        for word in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
            assert getattr(ours, word) == getattr(theirs, word), (name, word)
            assert type(getattr(ours, word)) in (int, float)
        if name != "bfloat16":
            assert ours.smallest_subnormal == float(np.finfo(name).smallest_subnormal)
    assert (jt.finfo(jt.ones(1, dtype="complex128")).dtype, str(jt.finfo("float16"))[:13]) == (
        jt.float64, "finfo(float16",
    )  # fmt: skip
    with pytest.raises(jt.DtypeError, match=r"found dtype int8. Try: jt.iinfo"):
        jt.finfo("int8")


def test_limits_of_whole_numbers_are_those_of_numpy():
    for name in PLAIN[1:9]:
        ours, theirs = jt.iinfo(name), np.iinfo(name)
        assert (ours.bits, ours.min, ours.max, ours.dtype) == (theirs.bits, theirs.min, theirs.max, name)
    assert repr(jt.iinfo("int8")) == "iinfo(int8: min=-128, max=127)"
    with pytest.raises(jt.DtypeError, match=r"found dtype bool"):
        jt.iinfo(jt.bool)


def test_the_table_of_promotions_prints_itself():
    small, every = jt.promotion_table("bool", jt.int8, "bfloat16"), jt.promotion_table()

    assert str(small).splitlines() == ["+    bool i8   bf16", "bool bool i8   bf16", "i8   i8   i8   bf16",
                                       "bf16 bf16 bf16 bf16"]  # fmt: skip
    assert small._repr_html_().startswith("<table><tr><th>+<th>bool<th>int8<th>bfloat16<tr><th>bool<td>bool<td>int8")
    assert len(str(every).splitlines()) == len(DTYPES) + 1
    assert max(map(len, str(every).splitlines())) < 80


# --------------------------------------------------------------------------------------------------- arrays of somebody


def test_memory_is_shared_by_dlpack_in_both_directions(torch):
    theirs = np.arange(3.0)
    ours = jt.from_dlpack(theirs)
    theirs[0] = 7
    seen, tensor = np.from_dlpack(ours, copy=False), torch.arange(3)
    of_torch = jt.from_dlpack(tensor)
    tensor[0] = 5

    assert (ours.tolist(), of_torch.tolist()) == ([7.0, 1.0, 2.0], [5, 1, 2])
    assert np.shares_memory(seen, ours.numpy())
    assert not seen.flags.writeable
    assert not np.shares_memory(np.from_dlpack(ours), ours.numpy())
    assert jt.from_dlpack(ours) is ours is not jt.from_dlpack(ours, copy=True)
    assert jt.from_dlpack(np.ones((2, 3)).T).shape == (3, 2)
    assert ours.__dlpack_device__() == (1, 0)
    theirs.flags.writeable = False
    with pytest.raises(jt.ArgumentError, match=r"read-only from version 1\.0 on; found max_version=None"):
        jt.asarray(theirs).__dlpack__(copy=False)
    assert not np.from_dlpack(jt.asarray(theirs), copy=False).flags.writeable
    for version in (None, (0, 0), (1, 0), (2, 0)):
        for copy in (None, True, False):
            ours.__dlpack__(max_version=version, copy=copy)


def test_what_cannot_be_shared_is_refused_in_words(torch):
    for given_, found in (
        ([1.0], "speaks DLPack"),
        (torch.ones(2, requires_grad=True), "require gradient"),
        (torch.ones(2, dtype=torch.bfloat16), "Unsupported dtype"),
    ):
        with pytest.raises(jt.ArgumentError, match=found):
            jt.from_dlpack(given_)
    with pytest.raises(jt.ArgumentError, match="copy=False"):
        jt.from_dlpack(np.ones((2, 3)).T, copy=False)
    with pytest.raises(jt.ArgumentError, match="a device that is there; found device='cuda'"):
        jt.ones(1).to_device("cuda")
    with pytest.raises(jt.ArgumentError, match="no streams; found stream=3"):
        jt.ones(1).to_device("cpu", stream=3)


def test_asarray_copies_only_what_it_has_to():
    a, x = np.zeros(2), jt.ones(2)

    assert np.shares_memory(jt.asarray(a).numpy(), a)
    assert jt.asarray(x) is x is jt.asarray(x, copy=False) is not jt.asarray(x, copy=True)
    assert (jt.asarray([[True]]).dtype, jt.asarray(1j).dtype, jt.asarray([1], jt.uint8).dtype) == (
        "bool", "complex64", "uint8",
    )  # fmt: skip
    assert jt.asarray(jt.unstack(jt.ones(2, 3), axis=1)).shape == (3, 2)
    assert jt.astype(x, jt.float32) is not x is jt.astype(x, jt.float32, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        jt.asarray([1.0], copy=False)


# ---------------------------------------------------------------------------------------------------- words that differ

M = np.array([[3.0, 1.0, 2.0], [np.nan, 5.0, 4.0]])


def test_running_sums_and_products_begin_with_nothing_where_asked():
    x = jt.array(M[:, 1:])

    found, products = jt.cumulative_sum(x, axis=1, include_initial=True), jt.cumulative_prod(x, axis=-1)
    empty = jt.cumulative_sum(jt.zeros((0,), dtype="int8"), include_initial=True)

    assert found.tolist() == [[0.0, 1.0, 3.0], [0.0, 5.0, 9.0]]
    assert products.tolist() == [[1.0, 2.0], [5.0, 20.0]]
    assert jt.cumulative_prod(x, axis=0, include_initial=True).tolist() == [[1.0, 1.0], [1.0, 2.0], [5.0, 8.0]]
    assert (empty.tolist(), empty.dtype) == ([0], "int64")
    assert jt.grad(found.sum(), x).tolist() == [[2.0, 1.0], [2.0, 1.0]]
    with pytest.raises(jt.ArgumentError, match="cumulative_sum works along one axis"):
        jt.cumulative_sum(x)


def test_the_unique_family_answers_as_numpys_with_every_nan_on_its_own():
    x = np.array([2.0, np.nan, 1.0, 2.0, np.nan])

    for name in ("unique_all", "unique_counts", "unique_inverse"):
        ours, theirs = getattr(jt, name)(jt.array(x)), getattr(np, name)(x)
        assert ours._fields == theirs._fields
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a.numpy(), b)
    np.testing.assert_array_equal(jt.unique_values(jt.array(x)).numpy(), [1, 2, np.nan, np.nan])


def test_the_word_axis_asks_for_numpys_answer_and_dim_for_pytorchs():
    x = jt.array(M[:1])

    assert jt.sort(x, axis=1).tolist() == [[1.0, 2.0, 3.0]] == x.sort(dim=1).values.tolist()
    assert jt.sort(x, descending=True, axis=-1).tolist() == [[3.0, 2.0, 1.0]]
    assert x.repeat(2).tolist() == [[3.0, 1.0, 2.0] * 2]
    assert jt.repeat(x, 2, axis=0).tolist() == np.repeat(M[:1], 2, axis=0).tolist()
    assert jt.repeat(x, [1, 0, 2], axis=1).tolist() == [[3.0, 2.0, 2.0]]
    assert jt.repeat(x, 2, axis=None).tolist() == np.repeat(M[:1], 2).tolist()
    for name in ("sum", "prod", "mean", "max", "min", "std", "var", "all", "any", "count_nonzero"):
        np.testing.assert_array_equal(getattr(jt, name)(x, axis=()).numpy(), getattr(np, name)(M[:1], axis=()))
        assert getattr(jt, name)(x, dim=()).shape == ()


def test_numbers_that_only_uint64_holds_are_counted_and_a_diagonal_may_lie_far_outside():
    large = jt.arange(2**63, 2**64 - 1, 2**62, dtype="uint64")

    assert large.tolist() == [2**63, 2**63 + 2**62]
    assert jt.arange(2**64 - 1, 2**63, -(2**62), dtype="uint64").tolist() == [2**64 - 1, 2**64 - 1 - 2**62]
    assert jt.eye(2, k=2**70).tolist() == jt.tril(jt.ones(2, 2), k=-(2**70)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(jt.DtypeError, match="must fit it"):
        jt.arange(2**63, 2**63 + 2)


def test_arrays_of_any_shape_are_joined_without_an_axis():
    assert jt.concat([jt.ones(1, 2), jt.zeros(3)], axis=None).tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    with pytest.raises(jt.ArgumentError, match="concat takes a list of one Var or more; found 3"):
        jt.concat(3, axis=None)


@pytest.mark.parametrize("dim", [(0, 1), (0, 2), (1,), [-1, 0], None])
def test_a_median_over_several_axes_is_that_of_numpy(dim):
    x = np.random.default_rng(0).permutation(3 * 5 * 7).reshape(3, 5, 7).astype(float)
    x[0, 0, 0] = x[0, 0, 1] = np.nan
    axes = tuple(dim) if dim is not None else None
    even = np.nanquantile(x, 0.5, axes, keepdims=True, method="lower")

    np.testing.assert_array_equal(jt.nanmedian(jt.array(x), dim=dim, keepdim=True).numpy(), even)
    np.testing.assert_array_equal(jt.median(jt.array(x), dim).numpy(), np.quantile(x, 0.5, axes, method="lower"))


# -------------------------------------------------------------------------------------------- what others make of it

XPS = make_strategies_namespace(jt)


@settings(max_examples=15, deadline=None, database=None, derandomize=True)
@given(XPS.arrays(XPS.scalar_dtypes(), XPS.array_shapes(min_dims=0, min_side=0, max_dims=2, max_side=3)), st.data())
def test_hypothesis_makes_vars_and_indexes_them(x, data):
    with jt.flag_scope(backend="python"):
        key = data.draw(XPS.indices(x.shape, allow_newaxis=True))
        mask = data.draw(XPS.arrays(jt.bool, x.shape))

        np.testing.assert_array_equal(x[key].numpy(), x.numpy()[key])
        np.testing.assert_array_equal(x[mask].numpy(), x.numpy()[mask.numpy()])


ASKED = """
import numpy as np, jt_edu as jt
from scipy import integrate, special, stats
a = np.random.default_rng(0).normal(size=(6, 3))
with jt.flag_scope(backend="python"):
    for ask in (lambda x: special.logsumexp(x, axis=1), lambda x: stats.kurtosis(x, axis=0),
                lambda x: stats.trim_mean(x, 0.2),
                lambda x: integrate.cumulative_trapezoid(x, axis=0), lambda x: stats.ttest_ind(x, x + 1).pvalue):
        found = ask(jt.array(a))
        assert isinstance(found, jt.Var), type(found)
        np.testing.assert_allclose(found.numpy(), ask(a), rtol=1e-9)
print("all Vars")
"""


def test_functions_of_scipy_answer_with_vars():
    done = subprocess.run(
        [sys.executable, "-c", ASKED], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )  # fmt: skip

    assert (done.stdout.strip(), done.returncode) == ("all Vars", 0), done.stderr


def test_arrays_of_others_keep_their_dtype(torch):
    assert jt.array(torch.tensor(0.1, dtype=torch.float64)).item() == 0.1
    assert jt.asarray(torch.zeros(1, dtype=torch.complex128)).dtype == "complex128"
    assert jt.array([torch.tensor(0.5)]).dtype == "float32"


def test_pytorchs_empty_dim_is_every_axis_and_numpys_empty_axis_is_none():
    x = jt.ones((2, 3))

    assert x.sum(dim=()).shape == x.sum(dim=[]).shape == x.mean([]).shape == ()
    assert x.sum(axis=()).shape == (2, 3)
