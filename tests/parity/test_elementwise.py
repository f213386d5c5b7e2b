"""Element functions, operators, casts and promotion: NumPy's numbers and NumPy's dtypes."""

import itertools
import operator

import numpy as np
import pytest

import jt_edu as jt
from tests.parity.inputs import COMPLEX, EVERY, FLOATS, HALVES, LAYOUTS, both, draw, expect_same, refuses, seed_of
from tests.parity.table import BINARY, ELEMENTWISE, UNARY

pytestmark = pytest.mark.usefixtures("python_backend", "quiet")

ALL_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
              "float64", "complex64", "complex128")  # fmt: skip


@pytest.mark.parametrize(
    ("row", "dtype"),
    [pytest.param(r, d, id=f"{r.name}-{d}") for r in ELEMENTWISE if r.numpy for d in r.dtypes],
)
def test_numbers_and_dtypes_are_numpys(row, dtype):
    for shapes in row.shapes:
        for layout, _, _ in LAYOUTS if shapes in (((3, 4),), ((3, 1), (1, 4)), ((2, 3), (2, 3))) else LAYOUTS[:1]:
            seed = seed_of(row.name, shapes, dtype)
            pairs = [both(seed + k, shape, dtype, row.domain, layout) for k, shape in enumerate(shapes)]

            ours, theirs = row.ours(*(a for a, _ in pairs)), row.numpy(*(b for _, b in pairs))

            expect_same(
                ours, theirs, dtypes=(dtype,), loose=row.loose, what=f"{row.name} {shapes} {layout}, seed {seed}"
            )


# --------------------------------------------------------------------------------------------------- dtypes that meet

OPERATORS = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift",
                 "eq", "ne", "lt", "le", "gt", "ge")
}  # fmt: skip
ORDER = {"lt", "le", "gt", "ge"}


def _dtype_of(function, a, b):
    try:
        with np.errstate(all="ignore"):
            return str(function(a, b).dtype)
    except (TypeError, ValueError, OverflowError):
        return "refused"


@pytest.mark.parametrize("name", OPERATORS)
def test_two_arrays_of_any_dtypes_give_the_dtype_that_numpy_gives_or_are_refused_by_both(name):
    function = OPERATORS[name]
    told = []
    for x, y in itertools.product(ALL_DTYPES, repeat=2):
        a, b = np.ones(2, x), np.ones(2, y)

        ours, theirs = _dtype_of(function, jt.array(a), jt.array(b)), _dtype_of(function, a, b)

        if name in ORDER and (x in COMPLEX or y in COMPLEX):
            theirs = "refused"  # on purpose: complex numbers have no order
        if ours != theirs:
            told.append((x, y, ours, theirs))
    assert not told


@pytest.mark.parametrize("number", [True, 2, 2.5, 1j], ids=repr)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_bare_number_gives_way_to_an_array_as_in_numpy_from_either_side(name, number):
    function = OPERATORS[name]
    told = []
    for dtype in ALL_DTYPES:
        a = np.ones(2, dtype)

        ours = [_dtype_of(function, jt.array(a), number), _dtype_of(function, number, jt.array(a))]
        theirs = [_dtype_of(function, a, number), _dtype_of(function, number, a)]

        if name in ORDER and (dtype in COMPLEX or isinstance(number, complex)):
            theirs = ["refused", "refused"]  # on purpose
        if (name, number, dtype) == ("pow", 2, "bool"):
            theirs = ["int64", "int64"]  # NumPy squares bools in a way of their own
        if ours != theirs:
            told.append((dtype, ours, theirs))
    assert not told


@pytest.mark.parametrize("row", UNARY, ids=lambda r: r.name)
def test_a_function_takes_and_refuses_the_dtypes_that_numpy_does(row):
    told = []
    for dtype in ALL_DTYPES:
        a = np.ones(2, dtype)
        if row.numpy is None or not _is_asked(dtype, row.dtypes):
            continue

        ours, theirs = _dtype_of(lambda a, b: row.ours(a), jt.array(a), 0), _dtype_of(lambda a, b: row.numpy(a), a, 0)

        if ours != theirs:
            told.append((dtype, ours, theirs))
    assert not told


def _is_asked(dtype, asked):
    kinds = {np.dtype(d).kind for d in asked if d != "bfloat16"}
    return np.dtype(dtype).kind in kinds


@pytest.mark.parametrize("row", UNARY, ids=lambda r: r.name)
def test_what_is_not_defined_for_complex_numbers_says_so_where_it_is_written(row):
    if "complex64" not in row.dtypes and row.name not in ("silu", "gelu by tanh"):
        assert refuses(row.ours, jt.array([1j])) == "DtypeError"


@pytest.mark.parametrize("number", [2, 2.5, True])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "eq"])
def test_a_bare_number_on_either_side_gives_numpys_numbers(name, number):
    function = OPERATORS[name]
    for dtype in ("int8", "int64", "uint8", "float16", "float32", "complex64"):
        a = draw(seed_of(name, dtype), (3, 2), dtype, "positive")
        for turn in (lambda f, x: f(x, number), lambda f, x: f(number, x)):
            try:
                theirs = turn(function, a)
            except TypeError:
                continue
            if name == "lt" and dtype in COMPLEX:
                continue
            expect_same(turn(function, jt.array(a)), theirs, dtypes=(dtype,), what=f"{name} {number} {dtype}")


@pytest.mark.parametrize("wanted", EVERY)
@pytest.mark.parametrize("found", EVERY)
def test_a_cast_gives_numpys_numbers(found, wanted):
    domain = "positive" if wanted.startswith("uint") else "any"
    a, b = both(seed_of(found, wanted), (3, 4), found, domain)

    cast = a.cast(wanted)

    b = b.real if found in COMPLEX and wanted not in (*COMPLEX, "bool") else b
    assert str(cast.dtype) == wanted
    if wanted == "bfloat16":
        np.testing.assert_array_equal(cast.numpy(), jt.array(b, "bfloat16").numpy())
    else:
        np.testing.assert_array_equal(cast.numpy(), b.astype(wanted))


METHODS = ("float", "double", "half", "long", "int", "bool", "int8", "int16", "int32", "int64", "uint8", "float16",
           "bfloat16", "float32", "float64", "complex64", "complex128")  # fmt: skip


def test_each_dtype_has_a_method_that_casts_to_it():
    spelled = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int64"}
    for name in METHODS:
        assert str(getattr(jt.array([1, 0]), name)().dtype) == spelled.get(name, name)


@pytest.mark.parametrize("dtype", [*HALVES, *FLOATS])
def test_every_value_of_a_half_survives_a_trip_through_a_kernel(dtype):
    bits = np.arange(0, 1 << 16, 37).astype(np.uint16)
    a = bits.view(np.float16) if dtype == "float16" else (bits.astype(np.uint32) << 16).view(np.float32)

    x = jt.array(a, dtype)

    np.testing.assert_array_equal((x * 1).numpy(), a.astype(x.numpy().dtype))


@pytest.mark.parametrize("name", ["add", "mul", "eq", "pow"])
def test_shapes_that_do_not_fit_are_refused_with_both_shapes_in_the_text(name):
    with pytest.raises(jt.ShapeError, match=r"\(2, 3\) and \(4,\)"):
        OPERATORS[name](jt.ones((2, 3)), jt.ones(4))


@pytest.mark.parametrize("row", BINARY, ids=lambda r: r.name)
def test_what_numpy_refuses_for_its_shapes_we_refuse(row):
    if row.name != "outer":
        assert refuses(row.ours, jt.ones((2, 3), dtype="int64"), jt.ones(4, dtype="int64")) == "ShapeError"
