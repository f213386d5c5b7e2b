"""The suites conv, backbones, train and start: both sides compute the same, and sums of rows are those of a hand."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from tests.bench import networks, report
from tests.bench.rows import Case, Figures, Goal, Result, Row, Run, compare, fill


@pytest.fixture(scope="module")
def conv(torch):
    return importlib.import_module("tests.bench.conv")


@pytest.fixture(scope="module")
def layers(torch):
    return importlib.import_module("tests.bench.layers")


@pytest.fixture(scope="module")
def mirrors(torch):
    return importlib.import_module("tests.bench.mirror")


# ------------------------------------------------------------------------------------------------------------- conv


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_each_kind_of_convolution_is_the_same_on_both_sides(conv, layers, groups):
    layer = layers.Layer(4, 8, (7, 6), (3, 3), (2, 2), (1, 1), groups, biased=groups == 1)

    errors = {kind: compare(make(layer, 2))[0] for kind, make in conv.KINDS.items()}

    assert max(errors.values()) <= 1e-5, errors


def test_the_two_gradients_are_not_the_same_thing(conv, layers):
    x, w = (conv.KINDS[kind](conv.TINY, 2).ours() for kind in ("by input", "by weights"))

    assert x.shape == (2, 4, 5, 5)
    assert w.shape == (6, 4, 3, 3)


def test_a_row_says_which_algorithm_it_was(conv):
    assert conv.KINDS["forward"](conv.TINY, 2).how() not in ("", "loops")


def test_operations_are_those_of_the_definition(layers):
    layer = layers.Layer(4, 6, (5, 8), (3, 2), (2, 1), (1, 0), 2, biased=True)

    assert layer.places == (3, 7)  # (5 + 2 - 3) // 2 + 1, (8 - 2) + 1
    assert layer.flops(10) == 2 * 10 * 6 * 2 * 3 * 2 * 3 * 7
    assert layer.name == "3x2, 4 to 6, 5x8, stride 2, groups 2, bias"


class Twice(nn.Module):
    def __init__(self):
        self.first = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.second = nn.Conv2d(8, 8, 1, groups=8, bias=False)

    def execute(self, x):
        return self.second(self.second(nn.relu(self.first(x))))


def test_the_layers_of_networks_are_found_once_each(layers):
    found = layers.layers_of({"a": Twice, "b": Twice}, (3, 10, 12))

    assert [layer.name for layer in found] == ["3x3, 3 to 8, 10x12, stride 2, bias", "1x1, 8 to 8, 5x6, depthwise"]
    assert set(found.values()) == {("a", "b")}


def test_the_suite_measures_every_family_and_both_batches(conv):
    names = [row.name for row in conv.ROWS]

    assert len(set(names)) == len(names)
    assert {net for nets in conv.FIVE.values() for net in nets} == set(conv.FAMILIES)
    assert {net for nets in conv.OTHERS.values() for net in nets} == set(conv.DEPTHWISE)
    assert {row.size[1] for row in conv.PAIRS} == {1, 8}
    assert not any(layer.groups > 1 for layer in conv.FIVE)
    assert len(conv.PAIRS) == 2 * 3 * (len(conv.FIVE) + len(conv.OTHERS))


def test_means_and_the_slowest_layer_by_hand(conv):
    rows = [row for row in conv.PAIRS if row.size[0] in conv.FIVE and row.column == "forward"]
    run = Run(15)
    run.results += [Result(row, Figures(1.0, 2.0, 4.0 if k % 2 else 1.0)) for k, row in enumerate(rows)]
    run.results[2] = Result(rows[2], Figures(2.0, 1.0, 0.25))
    pairs = len(rows) // 2

    mean = conv.mean_of(conv.FIVE, "forward", "", run)
    worst = conv.slowest(conv.FIVE, "forward", run)

    assert mean.ratio == pytest.approx((4**pairs * 0.25) ** (1 / len(rows)))
    assert worst.ratio == 0.25
    assert worst.how == rows[2].name.removesuffix(", forward")

    run.results.pop()

    assert not conv.mean_of(conv.FIVE, "forward", "", run).measured


def test_a_layer_has_a_line_with_three_kinds_and_what_is_too_slow_is_bold(conv):
    row = {r.column: r for r in conv.PAIRS[:3]}
    results = [
        Result(row["forward"], Figures(1.0, 0.5, 0.5, (0.4, 0.6), 0.9, 0.0, how="winograd4")),
        Result(row["by input"], Figures(1.0, 0.5, 0.5, (0.4, 0.6), 0.8, 0.0, how="panels")),
        Result(row["by weights"], failed="wrong: an error of 1"),
    ]

    text = conv.tables(results)
    line = next(x for x in text.splitlines() if x.startswith(f"| {row['forward'].size[0].name} | 1 |"))

    assert "1.00 ms | **0.50** | 90% | winograd4 | 1.00 ms | 0.50 | 80% | panels |  | FAILED |" in line
    assert f"Farthest behind, forward: {row['forward'].size[0].name}, batch 1 (0.50)." in text


# ------------------------------------------------------------------------------------------- networks and their mirrors


class Everything(nn.Module):
    """Each kind of leaf that a mirror knows, in a body of its own."""

    def __init__(self):
        self.layers = nn.Sequential(
            nn.Conv2d(4, 8, 3, padding=1, groups=2), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(3, stride=2, ceil_mode=True),
            nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8, eps=1e-3), nn.ReLU6(), nn.AvgPool2d(2), nn.Identity(),
        )  # fmt: skip
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(8, 5))
        self.twice, self.nothing = True, None

    def execute(self, x):
        y = self.pool(self.layers(x)).flatten(1)
        return self.head(y + y if self.twice and self.nothing is None else y)


def test_a_mirror_answers_as_ours_does(mirrors, torch, rng):
    net = mirrors.lively(Everything())
    net.eval()
    peer = mirrors.mirror(net)
    x = rng.standard_normal((2, 4, 9, 9)).astype(np.float32)

    with torch.no_grad():
        theirs = peer(torch.tensor(x)).numpy()

    np.testing.assert_allclose(net(jt.array(x)).numpy(), theirs, rtol=1e-4, atol=1e-5)
    assert not np.allclose(theirs, peer(torch.tensor(x * 2)).detach().numpy())


@pytest.mark.parametrize("name", ["SqueezeNet 1.1", "ShuffleNet v2"])
def test_networks_answer_as_their_mirrors_do(torch, name):
    backbones = importlib.import_module("tests.bench.backbones")
    row = next(row for row in backbones.PAIRS if row.group == name)

    case = row.build(*row.tiny)

    assert compare(case)[0] <= row.tolerance
    assert case.flops > 1e6


def test_a_mirror_refuses_words_that_it_does_not_know(mirrors):
    class Sneaky(nn.Module):
        def execute(self, x):
            return jt.exp(x)

    with pytest.raises(LookupError, match="calls jt: "):
        mirrors.mirror(Sneaky())


def test_a_mirror_in_training_trains(mirrors):
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    net.train()

    assert mirrors.mirror(net).training
    net.eval()
    assert not mirrors.mirror(net).training


def test_operations_of_a_network_are_counted_by_its_layers(torch):
    backbones = importlib.import_module("tests.bench.backbones")
    peer = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.Flatten(), torch.nn.Linear(100, 7))

    assert backbones.flops_of(peer, torch.zeros(1, 3, 5, 5)) == 2 * (4 * 25 * 27 + 700)


def best_of(backbones, kind):
    return next(row for row in backbones.PAIRS if row.group == "MobileNet v2" and row.name.endswith(kind))


def test_pytorch_at_its_best_answers_as_ours_does(torch):
    backbones = importlib.import_module("tests.bench.backbones")
    row = best_of(backbones, backbones.LAST)
    seen = []

    def note(layer, inputs, out):
        seen.append((inputs[0].is_contiguous(memory_format=torch.channels_last), torch.is_inference_mode_enabled()))

    with torch.nn.modules.module.register_module_forward_hook(note):
        error = compare(row.build(*row.tiny))[0]

    assert error <= row.tolerance
    assert seen[0] == (False, False)  # where operations are counted, on the mirror that other rows use
    assert seen[-1] == (True, True)
    assert next(backbones.network("MobileNet v2")[1].parameters()).is_contiguous()


def test_a_peer_is_compiled_for_the_row_that_says_so(torch, monkeypatch):
    backbones = importlib.import_module("tests.bench.backbones")
    asked = []
    monkeypatch.setattr(torch, "compile", lambda net, **settings: asked.append(settings) or net)
    monkeypatch.setattr(torch.compiler, "reset", lambda: asked.append("reset"))

    row = best_of(backbones, backbones.INDUCTOR)

    assert compare(row.build(*row.tiny))[0] <= row.tolerance
    assert asked == ["reset", {"dynamic": False}]


def test_rows_beside_the_best_have_no_goal_and_are_few(torch):
    backbones = importlib.import_module("tests.bench.backbones")
    rows = [row for row in backbones.PAIRS if row.name.endswith((backbones.LAST, backbones.INDUCTOR))]

    assert 6 <= len(rows) <= 10
    assert not any(row.goals for row in rows)
    assert len({row.name for row in backbones.ROWS}) == len(backbones.ROWS)


def test_dynamo_finds_its_way_through_a_mirror(mirrors, torch):
    """It reads the globals of a function, and a mirror's function has globals of its own."""
    torch.compiler.reset()
    net = Everything()
    net.eval()
    peer = mirrors.mirror(net)

    theirs = torch.compile(peer, backend="eager", fullgraph=True)(torch.ones(2, 4, 9, 9))

    assert torch.equal(theirs, peer(torch.ones(2, 4, 9, 9)))


# ----------------------------------------------------------------------------------------------------------- training


def test_both_sides_of_every_step_of_training_compute_the_same(torch):
    train = importlib.import_module("tests.bench.train")
    rows = [row for row in train.ROWS if train.QUICK(row) and "digits" in row.name]

    errors = {row.name: compare(row.build(*row.tiny))[0] for row in rows}

    assert len(errors) == 2
    assert max(errors.values()) <= 1e-5, errors


@pytest.mark.parametrize("name", ["mlp", "cnn", "lstm", "transformer"])
def test_each_network_of_the_bench_has_the_weights_that_its_layers_have(name):
    network = networks.NETWORKS[name]

    net = network.layers(nn, *network.sizes)

    weights = networks.numbers(name, *network.sizes)[1]
    assert {key: w.shape for key, w in weights.items()} == {key: v.shape for key, v in net.state_dict().items()}


@pytest.mark.parametrize("name", ["mlp", "cnn", "lstm", "transformer"])
def test_jax_takes_the_same_steps_where_it_is_installed(name):
    pytest.importorskip("jax")
    beside_jax = importlib.import_module("tests.bench.beside_jax")
    row = next(row for row in beside_jax.ROWS if row.name == f"{name} step")

    assert compare(row.build(*row.tiny))[0] <= 1e-5


def test_a_start_is_a_program_that_prints_its_loss(torch):
    start = importlib.import_module("tests.bench.start")
    cold = importlib.import_module("tests.bench.cold")

    assert {side: program[1:] for side, program in start.PROGRAMS.items()} == {
        "ours": ["tests.bench.net_ours", "cnn"], "peer": ["tests.bench.net_peer", "cnn"],
    }  # fmt: skip
    assert cold.start(["-c", "print(2.5)"], "")[1] == 2.5


@pytest.mark.parametrize(("seconds", "samples"), [(0.1, 15), (5.0, 10), (60.0, 7)])
def test_a_slow_start_gets_fewer_samples_and_says_so(monkeypatch, seconds, samples):
    cold = importlib.import_module("tests.bench.cold")
    started = []
    monkeypatch.setattr(cold, "start", lambda arguments, cache: started.append(arguments) or (seconds, 1.0))

    found = cold.importing(Run(25))

    assert len(started) == 2 + 2 * samples
    assert found.rounds == (0 if samples == 15 else samples)


# -------------------------------------------------------------------------------------------------- rows of all suites


def test_a_row_that_could_not_be_measured_says_why_and_is_not_missed():
    row = Row("two threads", (Goal("ratio", 1.7),), work=lambda run: Figures(how="not quiet: load 3.0"))
    run = Run(3)

    result = fill(row, run)

    assert result.missed == []
    assert report.cells(result)[-2:] == ["not measured", "not quiet: load 3.0"]
    assert report.summary(run.results) == "0 of 0 rows with a goal met it; none was missed; not measured: two threads."


def test_a_row_with_operations_is_held_to_the_peak_of_the_machine():
    class Answer:
        def detach(self):
            return self

        def numpy(self):
            return np.ones(2)

    clock = [0.0]

    def call():
        clock[0] += 0.5
        return Answer()

    run = Run(5, clock=lambda: clock[0])
    run.peak = 8e9

    result = fill(Row("a row", build=lambda: Case(call, call, flops=1e9, how=lambda: "panels")), run)

    assert result.figures.limit == pytest.approx(0.25)  # 1 GFLOP in half a second, of 8
    assert report.cells(result)[0] == "a row: panels"


def test_fewer_rounds_are_told():
    row = Row("slow")

    assert report.cells(Result(row, Figures(1.0, 2.0, 2.0, (1.5, 2.5), rounds=7)))[4] == "1.50 … 2.50 (7)"
    assert report.cells(Result(row, Figures(1.0, 2.0, 2.0, (1.5, 2.5))))[4] == "1.50 … 2.50"


def test_the_head_of_the_page_is_the_one_of_today():
    before = "# Performance\n\nOld words.\n\n<!-- ops -->\nops\n<!-- end of ops -->\n"

    after = report.page(before, "core", "<!-- core -->\ncore\n<!-- end of core -->\n")

    assert after.startswith(report.HEAD)
    assert "Old words" not in after
    assert after.index("<!-- ops -->") < after.index("<!-- core -->")


def test_shares_of_a_call_add_up_and_name_the_algorithm(torch, monkeypatch):
    """Each kernel takes 2 ms, and the whole call two more."""
    shares = importlib.import_module("tests.bench.shares")
    x, w = jt.randn((1, 8, 20, 20)).sync(), jt.randn((8, 8, 3, 3)).sync()
    kernels = shares._kernels
    monkeypatch.setattr(shares, "_kernels", lambda call: [replace(k, milliseconds=2.0) for k in kernels(call)])
    monkeypatch.setattr(shares, "whole", lambda call: 0.002 * (1 + len(kernels(call))))

    text = shares.told(lambda: (jt.exp(x) + jt.conv2d(jt.sin(x), w, padding=1)).sync())

    parts = [part.rsplit(" ", 1) for part in text.split(", ")]
    assert parts[-1][0] == "Python and the rest"
    assert dict(parts).keys() >= {"loops"}
    assert len(parts) >= 3, "the convolution has an algorithm"
    assert 99 <= sum(int(share.rstrip("%")) for _, share in parts) <= 101


def test_shares_stand_below_the_table(torch):
    shares = importlib.import_module("tests.bench.shares")
    results = [
        Result(Row("a net"), Figures(1.0, 2.0, 2.0, (1.9, 2.1), 0.5, 0.0, how="panels 60%, Python and the rest 40%")),
        Result(Row("threads"), Figures(how="not quiet: load 2.0")),
    ]

    text = shares.tables(results)

    assert "| a net | 1.00 ms |" in text
    assert "not quiet: load 2.0 |" in text
    assert text.endswith("* a net: panels 60%, Python and the rest 40%")


def test_all_runs_every_suite_that_has_a_peer(monkeypatch):
    main = importlib.import_module("tests.bench.__main__")
    ran = []

    def run(command, check):
        ran.append(command[3:])
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(main.subprocess, "run", run)

    assert main.main(["all", "--quick"]) == 0
    assert ran == [[suite, "--quick"] for suite in (*main.PEERS, "jax")]
    assert {"conv", "backbones", "train", "start"} <= set(main.PEERS)


# ----------------------------------------------------------------------------------------------------------- shapes


def test_shapes_are_measured_forward_and_with_gradients_and_both_sides_compute_the_same(torch):
    shapes = importlib.import_module("tests.bench.shapes")
    rows = [row for row in shapes.ROWS if row.size and shapes.QUICK(row) and "128²" not in row.name]

    errors = {row.name: compare(row.build(*row.size))[0] for row in rows}

    assert {name.split(", ")[-1] for name in errors} == {"forward", "with gradients"}
    assert max(errors.values()) <= 1e-5, errors
