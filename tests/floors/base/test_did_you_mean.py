"""Help for whoever looks around: names that are nearly right, and what each function is made of."""

import ast
import copy
import doctest
import inspect
import pickle
import re
import subprocess
import sys
import time
from statistics import median

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.did_you_mean import nearest
from jt_edu.base.migration import INSTEAD
from jt_edu.lens.ops_table import OpsTable, Part, operators
from tests.house.plan import ROOT
from tests.house.tree import modules

X, NET = jt.array([1.0, 2.0]), jt.nn.Linear(2, 1)

# functions that NumPy does on whole arrays, each with its reason
HOST_CALLS = {
    "numpy_code": "what a learner writes with NumPy",
    "code": "takes outputs of unknown length out of what the kernel filled",
}


# ------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("ask", "name", "hint"),
    [
        (lambda: jt.sofmax, "jt offers no sofmax", "jt.softmax"),
        (lambda: jt.reshpae, "jt offers no reshpae", "jt.reshape"),
        (lambda: jt.Linear, "jt offers no Linear", "jt.nn.Linear"),
        (lambda: jt.adam, "jt offers no adam", "jt.optim.Adam"),
        (lambda: jt.DataLoder, "jt offers no DataLoder", "jt.data.DataLoader"),
        (lambda: X.smu(), "a Var offers no smu", "x.sum"),
        (lambda: X.dtpye, "a Var offers no dtpye", "x.dtype"),
        (lambda: X.linspace, "a Var offers no linspace", "jt.linspace"),
        (lambda: jt.nn.Relu, "jt.nn offers no Relu", "jt.nn.ReLU"),
        (lambda: jt.nn.batch_norm2d, "jt.nn offers no batch_norm2d", "jt.nn.BatchNorm2d"),
        (lambda: jt.optim.Adm, "jt.optim offers no Adm", "jt.optim.Adam"),
        (lambda: jt.data.Dataloader, "jt.data offers no Dataloader", "jt.data.DataLoader"),
    ],
    ids=lambda value: value.split()[-1] if isinstance(value, str) else "",
)
def test_a_name_that_is_not_there_brings_the_nearest_ones(ask, name, hint):
    with pytest.raises(jt.UnknownNameError) as caught:
        ask()

    text = str(caught.value)
    assert text.startswith(name)
    assert hint in text.split("Try: ")[1].rstrip(".").split(" or ")
    assert 1 <= len(text.split(" or ")) <= 3
    assert isinstance(caught.value, AttributeError) and isinstance(caught.value, jt.JtError)


def test_a_name_that_is_like_none_points_to_the_list():
    with pytest.raises(AttributeError, match=r"jt offers no xyzzy. Try: dir\(jt\)"):
        _ = jt.xyzzy
    with pytest.raises(AttributeError, match=r"a Var offers no xyzzy. Try: dir\(x\)"):
        _ = X.xyzzy


@pytest.mark.parametrize(
    ("ask", "instead"),
    [
        (lambda: X.add_(1), "x.assign(x.add(...))"),
        (lambda: X.clamp_(0, 1), "x.assign(x.clamp(...))"),
        (lambda: X.cuda(), "leaving it out: everything is on the CPU, unless jt.cuda.is_available()"),
        (lambda: X.zero_(), "x.assign(jt.zeros_like(x))"),
        (lambda: jt.Tensor([1.0]), "jt.Var, the class, or jt.array(...), which makes one"),
        (lambda: jt.long, "jt.int64"),
        (lambda: jt.double, "jt.float64"),
        (lambda: jt.LongTensor([1]), 'jt.array(..., "int64")'),
        (lambda: jt.is_tensor(X), "isinstance(x, jt.Var)"),
        (lambda: jt.inference_mode(), "with jt.no_grad():"),
        (lambda: X.nelement(), "x.numel()"),
        (lambda: X.type("float32"), 'x.dtype, or x.astype("float32")'),
        (lambda: X.uniform_(), "x.assign(jt.rand(x.shape))"),
        (lambda: NET.cuda(), "leaving it out: everything is on the CPU, unless jt.cuda.is_available()"),
        (lambda: jt.nn.utils.clip_grad_norm, "jt.nn.utils.clip_grad_norm_"),
    ],
)
def test_what_pytorch_writes_and_is_not_here_brings_what_does_the_same(ask, instead):
    with pytest.raises(jt.UnknownNameError) as caught:
        ask()

    assert str(caught.value).endswith(f" Try: {instead}.")


PARTS = """fx lite static contrib quantization quant ao onnx export hub jit
cudnn mps xpu mkl mkldnn profiler testing multiprocessing nested masked
signal functorch distributions vision weightnorm attention gradfunctional
math_util dynamo nn.quantized nn.quantizable nn.qat nn.intrinsic
backends.mkldnn backends.mps backends.openmp""".split()


@pytest.mark.parametrize("path", PARTS)
def test_a_part_of_pytorch_or_jittor_brings_what_is_planned_or_does_the_same(path):
    *rooms, name = path.split(".")
    room = getattr(jt, rooms[0]) if rooms else jt
    with pytest.raises(jt.UnknownNameError) as caught:
        getattr(room, name)

    assert str(caught.value).endswith(f". Try: {INSTEAD[('.'.join(['jt', *rooms]), name)]}.")


def test_what_is_planned_is_said_to_be_not_here_yet():
    for name in ("fx", "quantization", "onnx", "lite"):
        with pytest.raises(AttributeError, match="not here yet"):
            getattr(jt, name)
    with pytest.raises(AttributeError, match=r"jt\.backends offers no nmes\. Try: jt\.backends\.names\."):
        _ = jt.backends.nmes


def test_no_name_has_a_hint_though_it_is_there():
    owners = {
        "jt": jt, "jt.flags": jt.flags, "x": X, "net": NET, "jt.nn": jt.nn, "jt.nn.utils": jt.nn.utils,
        "jt.data.transform": jt.data.transform, "jt.backends": jt.backends, "jt.zoo": jt.zoo,
        "jt.nn.functional": jt.nn.functional, "jt.distributed": jt.distributed,
        "jt.cuda": jt.cuda, "kernel": jt.cuda.jit(lambda: None),
    }  # fmt: skip

    assert [f"{call}.{name}" for call, name in INSTEAD if hasattr(owners[call], name)] == []


def test_a_layer_may_have_what_is_only_hinted_at():
    class Racer(jt.nn.Module):
        def __init__(self):
            self.cuda = 340  # km/h

    assert Racer().cuda == 340
    assert not hasattr(NET, "cuda") and copy.deepcopy(NET).weight.shape == (1, 2)


def test_every_name_that_the_hints_tell_is_there():
    owners = {"jt": jt, "x": X, "net": NET, "np": np, "nn": jt.nn}
    path_of = re.compile(r"\b(?:jt|x|net|np|nn)(?:\.[A-Za-z_]\w*)+")
    named = [(k, path) for k, hint in INSTEAD.items() for path in path_of.findall(hint)]
    lost = []
    for asked, path in named:
        owner, *names = path.split(".")
        found = owners[owner]
        for name in names:
            found = getattr(found, name, None)
        if found is None and path not in ("x.grad", "net.npz"):  # which is None before backward; a file
            lost.append((asked, path))

    assert len(named) > 60 and lost == []


def test_what_the_hints_say_can_be_written(tmp_path):
    net, x = jt.nn.Linear(2, 1), jt.array([1.0, 2.0])
    net.save(str(tmp_path / "net.npz"))
    net.load(str(tmp_path / "net.npz"))
    x.assign(x.add(1))
    x.requires_grad = True

    assert x.tolist() == [2.0, 3.0] and x.requires_grad


def test_a_shape_in_place_of_a_bound_is_told_where_it_goes():
    with pytest.raises(jt.ArgumentError, match=r"high=\(3,\)\. Try: randint\(0, 9, \(2, 3\)\)"):
        jt.randint(10, (3,))


def test_the_right_letters_in_another_order_come_first():
    assert nearest("smu", {"x": ["mul", "cumsum", "sum"]})[0] == "x.sum"


def test_asking_whether_a_name_is_there_still_works():
    assert not hasattr(jt, "sofmax") and not hasattr(X, "smu") and not hasattr(jt.nn, "Relu")
    assert getattr(X, "smu", 3) == 3
    assert not hasattr(jt.flags, "use_gpu") and {"backend", "fuse"} <= {*dir(jt.flags)}
    assert hasattr(jt, "softmax") and hasattr(X, "sum")


def test_machines_that_look_around_are_not_disturbed():
    for twin in (copy.copy(X), copy.deepcopy(X), pickle.loads(pickle.dumps(X))):  # noqa: S301 - our own bytes
        assert twin.tolist() == [1, 2]
    assert inspect.unwrap(jt.softmax) is not None
    assert dict(inspect.getmembers(jt))["softmax"] is jt.softmax
    assert doctest.DocTestFinder().find(jt, extraglobs={})
    with pytest.raises(AttributeError) as caught:
        X.__sofmax__()
    assert str(caught.value) == "a Var offers no __sofmax__."


@pytest.mark.parametrize("kind", [jt.ShapeError, jt.UnknownKeyError, jt.UnknownNameError])
@pytest.mark.parametrize("again", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])  # noqa: S301 - our own bytes
def test_an_error_that_travels_says_the_same_words(kind, again):
    for error in (kind("a + b adds", "(2,)", "(3,)"), kind("a + b adds").at("here.py:3")):
        twin = again(error)

        assert type(twin) is kind
        assert (str(twin), twin.asked, twin.attempt) == (str(error), error.asked, error.attempt)


def test_a_wrong_name_costs_less_than_twenty_milliseconds():
    def cost():
        begin = time.thread_time()
        hasattr(jt, "sofmax")
        return time.thread_time() - begin

    assert median(cost() for _ in range(5)) < 0.02  # one of them may meet the garbage collector


@pytest.mark.parametrize("door", [jt, jt.nn, jt.optim, jt.data], ids=lambda d: d.__name__)
def test_dir_lists_public_names_and_nothing_else(door):
    assert dir(door) == sorted(door.__all__)


def test_a_part_that_nobody_asked_for_yet_can_still_be_imported():
    code = "from jt_edu.backends import kernel_cache; from jt_edu import backends; import jt_edu.codegen.loop_ir"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_python_does_not_guess_a_second_time():
    for code, hint in (("jt.sofmax", "Try: jt.softmax"), ("jt.ones(3).sofmax()", "Try: x.softmax")):
        command = [sys.executable, "-c", f"import jt_edu as jt\n{code}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert hint in done.stderr
        assert "Did you mean" not in done.stderr
    with pytest.raises(AttributeError) as caught:
        X.sofmax()
    assert (caught.value.name, caught.value.obj) == ("sofmax", None), "it guesses from these two"


# --------------------------------------------------------------------------------------------------------- ops_table


@pytest.fixture(scope="module")
def everything():
    return jt.ops_table()


def test_the_table_has_a_row_for_every_public_function_of_vars(everything):
    names = {name for part in everything.parts for name in part.names}

    assert names >= {"softmax", "conv2d", "sort", "where", "randn", "nn.functional.linear", "absolute", "abs"}
    assert len(everything.parts) >= 300
    assert all(part.called for part in everything.parts), [p.names for p in everything.parts if not p.called]


def test_numpy_does_nothing_that_is_not_on_the_list(everything):
    assert everything.using("hostcall") == sorted(HOST_CALLS)
    assert all(HOST_CALLS.values())


SPEAK = {  # files whose host calls are messages to other ranks, and what goes into and comes out of these
    "jt_edu/mpi/differentiable_collectives.py", "jt_edu/distributed/ddp_nodes.py", "jt_edu/distributed/reducer.py",
}  # fmt: skip


def test_no_file_makes_a_host_call_that_the_table_might_not_see():
    places = [m.at(n) for m in modules(ROOT) for n in m.nodes(ast.Call) if _called(n) == "HostCall"]

    numpy, never_runs = {"jt_edu/ops/py_function.py", "jt_edu/ops/code.py"}, {"jt_edu/func/batched_graph.py"}
    never_runs |= {"jt_edu/library/by_name.py", "jt_edu/library/registry.py"}  # what a package brings is in no table
    assert {place.split(":")[0] for place in places} == numpy | SPEAK | never_runs, places


def _called(node):
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


@pytest.mark.parametrize(
    ("name", "made_of"),
    [
        ("transpose", {"reindex": ("permute",)}),
        ("sum", {"reindex_reduce": ("sum",)}),
        ("exp", {"elementwise": ("exp",)}),
        ("cumsum", {"code": ("cumsum",)}),
    ],
)
def test_what_a_function_is_made_of(name, made_of):
    (part,) = jt.ops_table(name).parts

    assert {k: v for k, v in part.made_of.items() if k in made_of} == made_of


def test_a_matrix_product_is_the_three_and_nothing_else():
    (part,) = jt.ops_table("matmul").parts

    assert set(part.made_of) == {"elementwise", "reindex", "reindex_reduce"}
    assert part.made_of["elementwise"] == ("multiply",)


def test_what_is_written_around_a_call_is_not_counted():
    def outer(x):
        return jt.exp(x * 2) + 1

    outer(X)
    (part,) = jt.ops_table(jt.exp).parts
    assert part.made_of == {"elementwise": ("exp",)}


def test_a_function_that_copies_its_graph_is_seen_the_second_time_too():
    first, second = (jt.ops_table("softmax").parts[0] for _ in range(2))

    assert first == second and first.called and first.made_of["reindex_reduce"] == ("max", "sum")


def test_the_table_leaves_flags_random_numbers_and_the_profiler_alone():
    jt.set_global_seed(5)
    wanted = jt.rand(3).tolist()
    jt.set_global_seed(5)
    seen = []
    sys.setprofile(lambda *event: seen.append(event))
    try:
        jt.ops_table("set_global_seed", "randn")
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)

    assert jt.rand(3).tolist() == wanted
    assert jt.flags.backend == "numba"


def test_the_examples_are_run_in_silence(capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(sys, "displayhook", shown.append)

    jt.ops_table("exp", "softmax")

    assert shown == [] and capsys.readouterr().out == ""
    sys.displayhook(3)
    assert shown == [3]


def test_a_name_that_is_no_function_is_refused():
    with pytest.raises(jt.ArgumentError, match="'sofmax'"):
        jt.ops_table("sofmax")
    with pytest.raises(jt.ArgumentError, match="'loops'"):
        jt.ops_table("exp").using("loops")


def test_the_table_as_text_and_as_a_page():
    table = OpsTable(
        [Part(("f", "g"), {"code": ("a<b",)}, called=True), Part(("h",), {"code": ("c " * 40,)}, called=True)]
    )

    assert str(table).splitlines()[:2] == ["function   Code", "f, g       a<b"]
    assert str(table).splitlines()[2].endswith("...")
    assert "<th>Code</th>" in table._repr_html_() and "a&lt;b" in table._repr_html_()
    assert table.summary.startswith("2 functions: 0 use Elementwise")
    assert "2 use Code" in table.summary


def test_every_operator_of_the_door_is_an_operator():
    names = {n for names in operators().values() for n in names}

    assert "grad" in names and "Linear" not in names and "flag_scope" not in names and "explain" not in names
