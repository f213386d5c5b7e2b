"""jt.summary tells what the layers of a network hold and do, and leaves the network as it was."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn


class Twice(nn.Module):
    """Uses one layer two times, and another never."""

    def __init__(self):
        self.act, self.body, self.unused = nn.ReLU(), nn.ModuleList([nn.Linear(4, 4, bias=False)]), nn.Linear(4, 9)

    def execute(self, x):
        return self.act(self.body[0](self.act(x)))


def row(table, path):
    (found,) = (r for r in table.rows if r.path == path)
    return found


def test_shapes_parameters_bytes_and_operations_are_those_one_counts_by_hand():
    table = jt.summary(nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.BatchNorm1d(16)), (5, 64))

    first, act, norm = (row(table, path) for path in "012")
    assert (first.shapes, act.shapes, norm.shapes) == (((5, 16),),) * 3
    assert (first.parameters, act.parameters, norm.parameters) == (64 * 16 + 16, 0, 32)
    assert (first.bytes, norm.bytes) == (4 * 1040, 4 * (32 + 2 * 16) + 8)  # and a count of batches
    assert (first.operations, act.operations) == (5 * (2 * 64 * 16 + 16), 5 * 16)
    assert table.rows[0].operations == first.operations + act.operations + norm.operations


def test_a_convolution_counts_a_multiplication_and_an_addition_for_each_weight_and_place():
    table = jt.summary(nn.Conv2d(3, 8, 3, padding=1, bias=False), (2, 3, 10, 10))

    assert table.rows[0].operations == 2 * 2 * 8 * 100 * 3 * 9


def test_a_layer_that_is_used_twice_or_never_is_told_so():
    table = jt.summary(Twice(), (1, 4))

    assert row(table, "act").calls == 2 and row(table, "act").operations == 8
    assert "(1, 4) x 2" in repr(table)
    assert row(table, "body.0").operations == row(table, "body").operations == 32
    assert (row(table, "unused").calls, row(table, "unused").shapes, row(table, "unused").operations) == (0, (), 0)


def test_a_parameter_that_two_layers_share_counts_once_in_all():
    net = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    net[1].weight = net[0].weight

    table = jt.summary(net)

    assert [r.parameters for r in table.rows] == [9, 9, 9]
    assert table.rows[0].bytes == 36


def test_nothing_runs_and_the_network_stays_as_it_was():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(0.5)).train()
    net[1].eval()
    before = {name: var.numpy().copy() for name, var in net.state_dict().items()}
    jt.set_global_seed(3)
    drawn = jt.rand(2).tolist()
    jt.set_global_seed(3)

    with jt.trace() as t:
        jt.summary(net, (1, 1, 8, 8))

    assert t.kernels == []
    assert [m.is_train for m in net.modules()] == [True, True, False, True]
    assert not any(m._hooks_after for m in net.modules())
    assert jt.rand(2).tolist() == drawn
    for name, var in net.state_dict().items():
        np.testing.assert_array_equal(var.numpy(), before[name])


def test_a_network_that_raises_is_left_as_it_was():
    net = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5)).train()

    with pytest.raises(jt.ShapeError, match=r"Linear\(5, 2\)"):
        jt.summary(net, (1, 5))

    assert all(m.is_train for m in net.modules()) and not any(m._hooks_after for m in net.modules())


def test_weights_that_a_lazy_layer_draws_are_no_work_of_the_network():
    lazy, ready = nn.Sequential(nn.LazyLinear(4)), nn.Sequential(nn.Linear(3, 4))

    assert jt.summary(lazy, (2, 3)).rows[0].operations == jt.summary(ready, (2, 3)).rows[0].operations


def test_indices_are_given_as_an_array_and_several_inputs_one_by_one():
    assert jt.summary(nn.Embedding(7, 5), np.array([[1, 2]])).rows[0].shapes == ((1, 2, 5),)
    assert jt.summary(nn.Bilinear(2, 3, 4), (6, 2), [6, 3]).rows[0].shapes == ((6, 4),)
    assert len(jt.summary(nn.LSTM(3, 4), (5, 1, 3)).rows[0].shapes) == 3  # the output, and both states


def test_a_shape_may_be_made_of_numpys_integers():
    assert jt.summary(nn.Linear(3, 4), (np.int64(2), np.int32(3))).rows[0].shapes == ((2, 4),)


def test_a_layer_whose_name_has_a_slash_has_its_operations():
    assert row(jt.summary(nn.Sequential({"a/b": nn.ReLU()}), (2, 3)), "a/b").operations == 6


def test_one_parameter_is_told_in_the_singular():
    assert "1 parameter, 1 of them trained" in repr(jt.summary(nn.PReLU()))


def test_without_a_shape_only_what_the_layers_hold_is_told():
    table = jt.summary(nn.Sequential(nn.Linear(4, 2), nn.ReLU()))

    assert table.columns == ("layer", "parameters", "bytes")
    assert repr(table).splitlines()[2].split() == ["0", "Linear", "10", "40", "B"]


def test_frozen_parameters_are_not_trained():
    net = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 1))
    for p in net[0].parameters():
        p.stop_grad()

    assert "13 parameters, 3 of them trained" in repr(jt.summary(net))


def test_a_notebook_shows_a_table_with_a_row_for_each_layer():
    class Net(nn.Sequential):
        """A name with marks in it: those of HTML."""

    Net.__name__ = "Net<b>"
    page = jt.summary(Net(nn.Linear(4, 2)), (1, 4))._repr_html_()

    assert page.count("<tr>") == 3
    assert "Net&lt;b&gt;" in page
    assert "<td>10</td>" in page and "padding-left:2.0em" in page


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: jt.summary(3), "takes a module, and the shapes of its inputs; found 3"),
        (lambda: jt.summary(nn.Linear(4, 2), 1, 4), r"one tuple; found 1\. Try: jt\.summary\(net, \(1, 64\)\)"),
        (lambda: jt.summary(nn.Linear(4, 2), np.int64(1), 4), "one tuple"),
        (lambda: jt.summary(nn.Linear(4, 2), (-1, 4)), "-1"),
        (lambda: jt.summary(nn.Linear(4, 2), "x"), "'x'"),
        (lambda: jt.summary(nn.Linear), "takes a module"),
    ],
)
def test_what_is_no_network_and_no_shape_is_refused(ask, words):
    with pytest.raises(jt.JtError, match=words):
        ask()
