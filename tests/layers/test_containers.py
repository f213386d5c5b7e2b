"""Containers: they act like Python's lists and dicts, and their parts are found, saved and printed."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import ArgumentError, DtypeError, RangeError


def test_names_of_containers_are_those_of_pytorch(torch):
    def build(n, ones):
        return n.Sequential(
            n.ModuleDict({"a": n.Linear(1, 1), "b": n.ModuleList([n.Linear(1, 1), n.PReLU()])}),
            n.ParameterDict({"x": n.Parameter(ones(2)), "y": n.Parameter(ones(1))}),
            n.ParameterList([n.Parameter(ones(2)), n.Parameter(ones(1))]),
        )

    assert list(build(nn, jt.ones).state_dict()) == list(build(torch.nn, torch.ones).state_dict())


def test_modules_in_lists_print_as_in_pytorch(torch):
    def build(n):
        return n.ModuleList([n.Linear(1, 2), n.Linear(1, 2), n.ReLU(), n.ModuleList([n.Tanh(), n.Tanh(), n.Tanh()])])

    assert repr(build(nn)) == repr(build(torch.nn))


def test_functions_in_a_row_print_their_name():
    assert repr(nn.Sequential(jt.relu, nn.ReLU())) == "Sequential(\n  (0): relu\n  (1): ReLU()\n)"


def test_parts_with_names_are_attributes_of_their_row():
    row = nn.Sequential({"first": nn.ReLU(), "second": nn.Tanh()})
    row.first = nn.Sigmoid()

    assert row[0] is row.first is row["first"] is getattr(row, "first")  # noqa: B009
    assert isinstance(row[0], nn.Sigmoid)
    assert row[1:].keys() == ["second"]
    assert nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Tanh())[1:].keys() == ["0", "1"]
    with pytest.raises(AttributeError, match="'third'"):
        row.third  # noqa: B018


@pytest.mark.parametrize("kind", ["Sequential", "ModuleList"])
def test_modules_that_a_subclass_of_a_row_keeps_are_parts_of_it(kind, torch):
    def build(n):
        class Classifier(getattr(n, kind)):
            def __init__(self):
                super().__init__()
                self.fc = n.Linear(2, 3)
                self.act = self.spare = n.ReLU()
                self.scale = 2
                del self.spare

        return Classifier()

    ours, theirs = build(nn), build(torch.nn)

    assert list(ours.state_dict()) == list(theirs.state_dict()) == ["fc.weight", "fc.bias"]
    assert (len(ours), ours.act, ours.fc, ours.scale) == (2, ours[1], ours[0], 2)
    if kind == "Sequential":
        assert repr(ours) == repr(theirs)
        x = -jt.ones(1, 2)
        assert ours(x).tolist() == jt.relu(ours.fc(x)).tolist()


def test_a_row_of_parameters_keeps_a_module_beside_them():
    row = nn.ParameterList([jt.ones(2)])
    row.head = nn.Linear(2, 1)

    assert len(row) == 1
    assert list(row.state_dict()) == ["0", "head.weight", "head.bias"]


def test_rows_add_pop_and_lose_slices_like_lists():
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    row = nn.ModuleList([a]) + nn.ModuleList([b, c])
    row += [a]

    assert row.values() == [a, b, c, a]
    assert row.pop() is a
    assert row.pop(0) is a
    del row[:1]
    assert row.items() == [("0", c)]
    assert row.insert(0, b) is row
    assert nn.Sequential(a).append(b).extend([c]).values() == [a, b, c]
    assert (nn.Sequential(a) + nn.Sequential(b)).values() == [a, b]
    assert len(nn.ModuleList()) == 0
    assert nn.ModuleList(x for x in (a, b)).values() == nn.Sequential(x for x in (a, b)).values() == [a, b]


def test_a_new_part_takes_no_name_that_is_taken():
    row = nn.Sequential({"1": nn.ReLU()})
    row.append(nn.Tanh())

    assert row.keys() == ["1", "2"]


def test_a_dict_of_modules_acts_like_a_dict():
    a, b, c = nn.Linear(1, 1), nn.Tanh(), nn.Sigmoid()
    parts = nn.ModuleDict([("a", a)])
    parts["b"] = b
    parts.update({"c": c})
    parts.update(nn.ModuleDict({"b": c}))

    assert parts.items() == [("a", a), ("b", c), ("c", c)]
    assert (list(parts), len(parts), "a" in parts, "z" in parts) == (["a", "b", "c"], 3, True, False)
    assert parts.pop("a") is a
    del parts["b"]
    parts.add_module("d", b)
    assert (parts.keys(), parts.values()) == (["c", "d"], [c, b])
    parts.clear()
    assert len(parts) == 0
    assert (parts.get("c"), parts.get("c", 7), parts.pop("c", 8)) == (None, 7, 8)
    with pytest.raises(KeyError, match=r"of nothing.*'c'"):
        parts["c"]


@pytest.mark.parametrize("name", ["", "a.b", 3])
def test_a_part_has_a_name_without_dots(name):
    for put in (nn.ModuleDict().__setitem__, nn.ModuleList().add_module):
        with pytest.raises(ArgumentError, match="without dots"):
            put(name, nn.ReLU())


def test_parameters_in_lists_and_dicts_are_trained():
    given = jt.ones(2)
    row, parts = nn.ParameterList([given, np.ones(3)]), nn.ParameterDict({"a": given, "b": [1.0]})
    row.append([2.0])
    parts["c"] = np.zeros(1)

    assert row[0] is given is parts["a"]
    assert [p.shape for p in row.parameters()] == [(2,), (3,), (1,)]
    assert [name for name, _ in parts.named_parameters()] == ["a", "b", "c"]
    assert repr(row).splitlines()[1] == "  (0): Parameter of (2,) float32"
    assert repr(parts).splitlines()[3] == "  (c): Parameter of (1,) float64"
    with pytest.raises(DtypeError, match="int64"):
        row.append([1])
    with pytest.raises(RangeError, match=r"3 parameters; found the index 7. Try: a number from -3 to 2"):
        row[7]


def test_modules_only_where_modules_belong():
    row = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    for make in (
        lambda: nn.ModuleDict({"a": jt.relu}),
        lambda: nn.ModuleList([jt.ones(1)]),
        lambda: row.__setitem__(0, 3),
    ):
        with pytest.raises(ArgumentError, match="made of modules"):
            make()
    assert isinstance(row[0], nn.ReLU)


@pytest.mark.parametrize(
    ("key", "way"), [(2, "from -2 to 1"), (-3, "from -2 to 1"), (0.5, "from -2 to 1"), ("secnd", "second")]
)
def test_a_part_that_is_not_there_is_told_with_those_that_are(key, way):
    row = nn.Sequential({"first": nn.ReLU(), "second": nn.Tanh()})

    assert isinstance(row[-2], nn.ReLU)
    with pytest.raises(RangeError, match=f"a row of 2 modules; found the index {key!r}. Try: .*{way}"):
        row[key]
    with pytest.raises(RangeError, match=r"a row of 0 modules; .* Try: append"):
        nn.Sequential()[0]
