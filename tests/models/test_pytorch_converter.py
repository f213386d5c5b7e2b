"""The converter: what it writes means what PyTorch's text means, and it refuses what it cannot write, naming the line.

The classes of torchvision are converted from their source where it is installed (`pip install torchvision==0.28.0`).
"""

import ast
import importlib
import inspect
import types

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.pytorch_converter import converter
from jt_edu.utils.pytorch_converter import ConversionError, convert, pjmap_append
from tests.models.things import image

MODEL = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 3)
        self.conv2 = nn.Conv2d(10, 32, 3)
        self.fc = nn.Linear(1200, 100)

    def forward(self, x):
        x = self.conv1(x)
        x = self.conv2(x)
        x = x.view(x.size(0), -1)
        x = self.fc(x)
        return x
"""
CONVERTED = """
import jt_edu as jt
from jt_edu import init
from jt_edu import nn

class Model(nn.Module):

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv(1, 10, 3)
        self.conv2 = nn.Conv(10, 32, 3)
        self.fc = nn.Linear(1200, 100)

    def execute(self, x):
        x = self.conv1(x)
        x = self.conv2(x)
        x = x.view((x.shape[0], (- 1)))
        x = self.fc(x)
        return x
"""
PRINTED = """Model(
    conv1: Conv(1, 10, (3, 3), (1, 1), (0, 0), (1, 1), 1, float32[10,], None)
    conv2: Conv(10, 32, (3, 3), (1, 1), (0, 0), (1, 1), 1, float32[32,], None)
    fc: Linear(1200, 100, float32[100,], None)
)"""


def tree(text):
    return ast.dump(ast.parse(text))


def run(text, **names):
    """The names that a converted text binds."""
    exec(text, names)  # noqa: S102 - what the converter writes is made to be run
    return types.SimpleNamespace(**names)


def body(text):
    """The converted text of statements, without the imports that it begins with."""
    lines = convert(text).split("\n")
    assert lines[:3] == ["import jt_edu as jt", "from jt_edu import init", "from jt_edu import nn"]
    return "\n".join(lines[3:])


def test_jittors_example_is_converted_node_by_node():
    assert tree(convert(MODEL)) == tree(CONVERTED)


def test_jittors_example_runs_and_prints_as_there():
    made = run(convert(MODEL.replace("1200", "1152")))
    with jt.flag_scope(module_repr="jittor"):
        assert repr(run(convert(MODEL)).Model()) == PRINTED
    assert made.Model()(jt.zeros(2, 1, 10, 10)).shape == (2, 100)


# What stands in a text of PyTorch, and what is written for it.
WRITTEN = {
    "x.size()": "x.shape",
    "x.size(-1)": "x.shape[-1]",
    "x.view(2, -1)": "x.view((2, -1))",
    "x.permute(0, 2, 1)": "x.permute((0, 2, 1))",
    "nn.Conv2d(3, 8, kernel_size=k, padding=1, bias=False)": "nn.Conv(3, 8, k, padding=1, bias=False)",
    "nn.MaxPool2d(3, 2)": "nn.Pool(3, stride=2, op='maximum')",
    "nn.AvgPool2d(2)": "nn.Pool(2, op='mean')",
    "nn.AvgPool2d(2, divisor_override=3)": "nn.AvgPool2d(2, divisor_override=3)",  # which Pool has not
    "nn.Conv2d(*sizes)": "nn.Conv(*sizes)",
    "nn.ReLU(inplace=True)": "nn.ReLU()",
    "nn.SiLU(inplace=True)": "nn.SiLU()",
    "nn.LeakyReLU(0.2, True)": "nn.LeakyReLU(scale=0.2)",
    "F.relu(x, inplace=True)": "nn.relu(x)",
    "F.cross_entropy(x, y)": "nn.functional.cross_entropy(x, y)",
    "torch.cat([x, y], 1)": "jt.concat([x, y], dim=1)",
    "torch.nn.init.kaiming_normal_(w, mode='fan_out')": "init.kaiming_normal_(w, mode='fan_out')",
    "isinstance(m, (nn.Conv2d, nn.Linear))": "isinstance(m, (nn.Conv, nn.Linear))",
    "torch.Tensor.add(x, y)": "jt.Var.add(x, y)",
    "x.max(1)": "jt.arg_reduce(x, 'max', 1)[::-1]",
    "torch.min(x, dim=1, keepdim=True)": "jt.arg_reduce(x, 'min', 1, True)[::-1]",
    "out.max(1)[1]": "out.argmax(1)",
    "torch.max(x, -1).values": "x.max(-1)",
    "x.max()": "x.max()",
    "np.max(x, 1)": "np.max(x, 1)",
    "x.var(0)": "x.var(0, correction=1)",
    "torch.std(x, dim=1, unbiased=False)": "jt.std(x, dim=1, unbiased=False)",
    "torch.randint(0, 9, size=(3,))": "jt.randint(0, 9, (3,))",
    "torch.randint(0, 9, (3,), device='cpu')": "jt.randint(0, 9, (3,), device='cpu')",
    "torch.Tensor([1, 2])": "jt.float32([1, 2])",
    "x.int()": "x.int32()",
    "torch.zeros(2, dtype=torch.int)": "jt.zeros(2, dtype=jt.int32)",
    "torch.equal(x, y)": "jt.equal(x, y).all().item()",
    "x.add_(y)": "x.assign(x.add(y))",
    "w.data.normal_(0, 0.02)": "init.normal_(w, 0, 0.02)",
    "w.data.copy_(v)": "w.update(v)",
    "p.data -= 0.1 * g": "p -= 0.1 * g",
    "net.cuda()": "net",
    "torch.device('cuda' if torch.cuda.is_available() else 'cpu')": "'cuda' if bool(jt.has_cuda) else 'cpu'",
    "torch.jit.is_scripting()": "False",
    "torch._assert(x.dim() == 3, 'three axes')": "assert x.dim() == 3, 'three axes'",
    "torchvision.models.resnet18()": "torchvision.models.resnet18()",  # nobody imported it
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_piece_becomes_what_means_the_same_here(text):
    assert tree(body(text)) == tree(WRITTEN[text])


NUMBERS = [
    "x.max(1)", "x.min(1)[1]", "torch.max(x, -1).values", "x.var(0)", "torch.std(x, 1)", "torch.equal(x, x + 0)",
    "x.int()", "x.size(1)", "x.permute(1, 0)", "torch.cat([x, x], 1)", "F.softmax(x, dim=0)", "x.relu_()",
]  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_both_texts_have_the_same_numbers(text, torch):
    x = image(3, 4)
    theirs = run(f"found = {text}", torch=torch, F=torch.nn.functional, x=torch.tensor(x)).found
    ours = run(convert(f"found = {text}"), x=jt.array(x)).found

    for found, expected in zip(*((v,) if not isinstance(v, tuple) else v for v in (ours, theirs)), strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=1e-6)


def test_names_mean_what_the_text_imports():
    text = "import torch.nn as layers, os\nfrom torch.nn import functional, Linear as L\n"
    text += "import torchvision.models as zoo\n"
    text += "layers.Tanh(), functional.relu(x), L(2, 3), zoo.resnet18()"

    assert tree(body(text)) == tree("import os\nnn.Tanh(), nn.relu(x), nn.Linear(2, 3), jt.models.resnet18()")


def test_a_name_that_the_text_binds_itself_is_its_own():
    text = "def f(F, init):\n    return F.relu(init.normal_)"

    assert tree(body(text)) == tree(text)


def test_only_a_method_of_a_module_is_renamed():
    text = "class A(Base):\n    def forward(self, x):\n        def forward(y):\n            return y\n"
    text += "        return forward(x)\n"
    text += "class B:\n    def forward(self, x):\n        return x\ndef forward(x):\n    return x"

    assert [node.name for node in ast.walk(ast.parse(convert(text))) if isinstance(node, ast.FunctionDef)] == [
        "forward", "execute", "forward", "forward",
    ]  # fmt: skip


def test_what_a_class_alone_lacks_is_imported():
    text = "class A(nn.Module):\n    def f(self, x: Optional[Tensor]) -> List[int]:\n        return partial(math.prod)"

    assert run(convert(text)).A.f.__annotations__["x"] == jt.Var | None


def test_docstring_and_future_stay_in_front():
    lines = convert('"""A model."""\nfrom __future__ import annotations\nimport torch\nx = 1').split("\n")

    assert lines == ['"""A model."""', "from __future__ import annotations", "import jt_edu as jt",
                     "from jt_edu import init", "from jt_edu import nn", "x = 1"]  # fmt: skip


REFUSED = {
    "a = 1\nb = torch.trace(x)": r"torch.trace, in line 2. Try: x.diagonal\(\).sum\(\)",
    "y = torch.nn.Sofmax()": "jt.nn offers no Sofmax; found torch.nn.Sofmax, in line 1. Try: jt.nn.Softmax",
    "from torch import *": "a star does not say which names it binds; .* line 1",
    "torch.max(a, b)": "an axis or a Tensor; .* line 1. Try: dim=",
    "x.var(1, True)": "naming them",
    "torch.randint(9, (3,))": "torch.randint lacks size; .* Try: low, high, size",
    "nn.Conv2d(3)": r"lacks out_channels, kernel_size; found nn.Conv2d\(3\), in line 1",
    "x[0].add_(1)": r"would be lost; found x\[0\].add_\(1\), in line 1",
    "def f(:": "no Python; found invalid syntax, in line 1",
    "f'\0'": "no Python; found source code string cannot contain null bytes",
    "f = torch.jit.script(g)\nh = torch.stft(x)": r"line 1. Try: (?s:.*)\n  line 2, torch.stft: ",
    "(" * 100_000: "nested more deeply|no Python",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_what_has_no_counterpart_is_refused_with_its_line(text):
    with pytest.raises(ConversionError, match=REFUSED[text]):
        convert(text)


def test_rules_of_ones_own_count_before_others(monkeypatch):
    monkeypatch.setattr(converter, "_mine", {})
    rule = {
        "pytorch": {"args": "size, text='a=b', inplace=False"},
        "jittor": {"module": "nn", "name": "Pool", "args": "kernel_size, text='', op=''"},
        "extras": {"op": "'mean'"}, "links": {"size": "kernel_size"}, "delete": ["inplace"],
    }  # fmt: skip
    once = convert("nn.MaxPool2d(2, text='c=d', inplace=True)", ex_pjmaps={"MaxPool2d": rule})
    pjmap_append("MyPool", "size, stride=None", "nn", "Pool", "size, stride=None, op=''", extras={"op": "'mean'"})

    assert once.split("\n")[-1] == "nn.Pool(2, text='c=d', op='mean')"
    assert body("MyPool(2)") == body("layers.MyPool(size=2)") == "nn.Pool(2, op='mean')"
    with pytest.raises(ConversionError, match="MyPool does not take 'padding'"):
        convert("MyPool(2, padding=1)")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"pytorch_args": "a b"}, "parameters are written as in Python"),
        ({"jittor_func_name": "Poool"}, "offers no Poool"),
        ({"extras": {"op": "'mean"}}, "a rule is written in Python"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused_at_once(change, match):
    rule = {"pytorch_args": "size", "jittor_func_module": "nn", "jittor_func_name": "Pool", "jittor_args": "size"}
    with pytest.raises((jt.ArgumentError, jt.UnknownNameError), match=match):
        pjmap_append("Some", **rule | change)


def test_a_notebook_shows_the_text_and_what_became_of_each_line():
    html = convert("y = torch.cat(\n    [x],\n    1)\nz = '<b>' + nn.Tanh()")._repr_html_()

    assert html.count("<details>") == 1
    assert "jt.concat([x], dim=1)" in html
    assert "<b>'" not in html


# torchvision's classes: file, class, its arguments, the shape of what it reads
CLASSES = [
    ("ops.misc", "Conv2dNormActivation", (3, 8), (2, 3, 9, 9)),
    ("ops.misc", "SqueezeExcitation", (8, 4), (2, 8, 5, 5)),
    ("ops.misc", "MLP", (6, [8, 4]), (2, 6)),
    ("ops.misc", "Permute", ([0, 2, 1],), (2, 3, 4)),
    ("ops.misc", "FrozenBatchNorm2d", (3,), (2, 3, 4, 4)),
    ("ops.stochastic_depth", "StochasticDepth", (0.5, "row"), (2, 3, 4, 4)),
    ("models.alexnet", "AlexNet", (10,), (1, 3, 64, 64)),
    ("models.resnet", "BasicBlock", (8, 8), (2, 8, 8, 8)),
    ("models.resnet", "Bottleneck", (32, 8), (2, 32, 8, 8)),
    ("models.resnet", "ResNet", ("BasicBlock", [1, 1, 1, 1]), (1, 3, 64, 64)),
    ("models.squeezenet", "Fire", (8, 4, 6, 6), (2, 8, 8, 8)),
    ("models.squeezenet", "SqueezeNet", ("1_1", 10), (1, 3, 64, 64)),
    ("models.mobilenetv2", "InvertedResidual", (8, 8, 1, 2), (2, 8, 8, 8)),
    ("models.inception", "InceptionA", (8, 4), (2, 8, 9, 9)),
    ("models.inception", "InceptionB", (8,), (2, 8, 9, 9)),
    ("models.inception", "InceptionC", (8, 4), (2, 8, 9, 9)),
    ("models.inception", "InceptionD", (8,), (2, 8, 9, 9)),
    ("models.inception", "InceptionE", (8,), (2, 8, 9, 9)),
    ("models.inception", "InceptionAux", (8, 5), (2, 8, 17, 17)),
    ("models.googlenet", "Inception", (8, 4, 4, 6, 2, 4, 4), (2, 8, 9, 9)),
    ("models.googlenet", "InceptionAux", (8, 5), (2, 8, 9, 9)),
    ("models.densenet", "_DenseLayer", (8, 4, 2, 0.0), (2, 8, 6, 6)),
    ("models.densenet", "_DenseBlock", (2, 8, 2, 4, 0.0), (2, 8, 6, 6)),
    ("models.densenet", "_Transition", (8, 4), (2, 8, 6, 6)),
    ("models.shufflenetv2", "InvertedResidual", (8, 8, 1), (2, 8, 6, 6)),
    ("models.mnasnet", "_InvertedResidual", (8, 8, 3, 1, 2), (2, 8, 6, 6)),
    ("models.convnext", "LayerNorm2d", (8,), (2, 8, 4, 4)),
    ("models.convnext", "CNBlock", (8, 0.1, 0.0), (2, 8, 9, 9)),
    ("models.vision_transformer", "MLPBlock", (8, 12, 0.0), (2, 4, 8)),
    ("models.vision_transformer", "EncoderBlock", (2, 8, 12, 0.0, 0.0), (2, 4, 8)),
]


def converted(path, torch, known):
    """All classes and functions of a file of torchvision, each converted from its source, and what it imports."""
    module = importlib.import_module(f"torchvision.{path}")
    space = {
        name: known.get(name, value) for name, value in vars(module).items() if not isinstance(value, types.ModuleType)
    }
    for name, value in vars(module).items():
        mine = getattr(value, "__module__", "") == module.__name__
        layer = inspect.isclass(value) and issubclass(value, torch.nn.Module)
        if mine and (layer or inspect.isfunction(value)) and "Weights" not in inspect.getsource(value):
            exec(convert(inspect.getsource(value)), space)  # noqa: S102 - the same
            known[name] = space[name]
    return module, space


@pytest.mark.parametrize(
    ("path", "name", "given", "shape"), CLASSES, ids=lambda part: part if isinstance(part, str) else ""
)
def test_a_class_of_torchvision_computes_the_same_when_it_is_converted(path, name, given, shape, torch, torchvision):
    known = {}
    for before in ("ops.misc", "ops.stochastic_depth"):
        converted(before, torch, known)
    module, space = converted(path, torch, known)
    theirs = getattr(module, name)(*(getattr(module, str(v), v) for v in given)).eval()
    ours = space[name](*(space.get(str(v), v) for v in given)).eval()
    assert isinstance(ours, nn.Module)

    ours.load_state_dict({key: tensor.numpy() for key, tensor in theirs.state_dict().items()})
    x = image(*shape)

    np.testing.assert_allclose(
        ours(jt.array(x)).numpy(), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-5
    )
