"""Notebook 11: answers right and wrong, which `test_answers` hands to its checks, and what the notebook shows."""

import base64
import re

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.data.image import read_png
from jt_exercises import backbones
from jt_exercises.backbones.foreign import foreign, theirs
from tests.exercises.answers import filled, made
from tests.story.test_course_answers import verdicts

RESIDUAL = """
def residual(x, body, around=None):
    y = body(x)
    y = y + (x if around is None else around(x))
    return y.relu()
"""
BOTTLENECK = """
from jt_edu import nn


def bottleneck(inputs, channels, stride=1):
    return nn.Sequential(
        nn.Conv2d(inputs, channels, 1, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.Conv2d(channels, 4 * channels, 1, bias=False),
        nn.BatchNorm2d(4 * channels),
    )
"""
RENAME = """
def rename(name):
    for old, new in [
        ("stem.conv", "conv1"),
        ("stem.norm", "bn1"),
        ("skip.conv", "downsample.0"),
        ("skip.norm", "downsample.1"),
        ("stage", "layer"),
        ("norm", "bn"),
        ("gamma", "weight"),
        ("beta", "bias"),
        ("moving_mean", "running_mean"),
        ("moving_variance", "running_var"),
        ("classifier", "fc"),
    ]:
        name = name.replace(old, new)
    return name
"""
REPORT = """
def report(theirs, ours):
    missing = [name for name in ours if name not in theirs]
    unexpected = [name for name in theirs if name not in ours]
    both = [name for name in ours if name in theirs]
    return missing, unexpected, [name for name in both if theirs[name] != ours[name]]
"""
FOLD = """
import numpy as np


def fold(conv, bn):
    gamma, beta, mean, var = (v.numpy() for v in (bn.weight, bn.bias, bn.running_mean, bn.running_var))
    scale = gamma / np.sqrt(var + bn.eps)
    begin = 0 if conv.bias is None else conv.bias.numpy()
    return conv.weight.numpy() * scale[:, None, None, None], beta + (begin - mean) * scale
"""
NEW_HEAD = """
from jt_edu import nn


def new_head(net, classes):
    net.requires_grad_(False)
    net.eval()
    net.fc = nn.Linear(net.fc.weight.shape[1], classes)
    return net.fc.parameters()
"""
ATTENTION = """
import jt_edu as jt
import numpy as np


def attention(q, k, v, causal=False):
    scores = q @ k.T / np.sqrt(q.shape[1])
    if causal:
        mask = jt.array(np.tri(q.shape[0], k.shape[0])) > 0
        scores = jt.where(mask, scores, -np.inf)
    weights = jt.softmax(scores, 1)
    return weights @ v, weights
"""
RIGHT = {
    "residual": RESIDUAL, "bottleneck": BOTTLENECK, "rename": RENAME, "report": REPORT, "fold": FOLD,
    "new_head": NEW_HEAD, "attention": ATTENTION,
}  # fmt: skip
CHECKS = {
    "residual": lambda residual: backbones.check_blocks(residual, made(BOTTLENECK)),
    "bottleneck": lambda bottleneck: backbones.check_blocks(made(RESIDUAL), bottleneck),
    "rename": lambda rename: backbones.check_report(rename, made(REPORT)),
    "report": lambda report: backbones.check_report(made(RENAME), report),
    "fold": backbones.check_fold,
    "new_head": backbones.check_new_head,
    "attention": backbones.check_attention,
}
WRONG = [  # of which exercise, what is written instead of what, and what the refusal says
    ("residual", "y.relu()", "y", "the relu comes after the sum, and there is none here"),
    ("residual", "body(x)\n", "body(x).relu()\n", "gets its relu with the sum, not before it"),
    ("residual", "    y = y + (x if around is None else around(x))\n", "", "that is the body alone"),
    ("residual", "(x if around is None else around(x))", "x", "`around` says what is added"),
    ("residual", "y.relu()", "y.relu() * 2", "and should be [[1.0, 1.0, 1.0, 1.0]]"),
    ("bottleneck", "channels),\n    )", "channels),\n        nn.ReLU(),\n    )", "comes after the sum"),
    ("bottleneck", "        nn.BatchNorm2d(4 * channels),\n", "", "each with a BatchNorm2d behind it"),
    ("bottleneck", "nn.Conv2d(inputs, channels, 1, bias=False)", "nn.Conv2d(inputs, channels, 1)",
     "convolution 1 of bottleneck(16, 4, 1) has a bias"),
    ("bottleneck", "padding=1, ", "", "look at stride and padding"),
    ("bottleneck", "stride=stride, ", "", "look at stride and padding"),
    ("bottleneck", "nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False)",
     "nn.Conv2d(channels, channels, 1, stride=stride, bias=False)",
     "convolution 2 of bottleneck(16, 4, 1) goes from 4 to 4 channels, 1 x 1; it should be 4 to 4"),
    ("bottleneck", BOTTLENECK[BOTTLENECK.index("inputs, channels, 1, b") : BOTTLENECK.index("padding")],
     """inputs, channels, 1, stride=stride, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.Conv2d(channels, channels, 3, """, "is in a 1 x 1, which then never looks at three quarters"),
    ("bottleneck", "return nn.Sequential(", "return [nn.Identity()] or (", "is an nn.Sequential of layers"),
    ("rename", '        ("stem.norm", "bn1"),\n', "", "rename('stem.norm.gamma') is 'stem.bn.weight'"),
    ("rename", '("gamma", "weight")', '("gamma", "bias")', "and should be 'bn1.weight'"),
    ("rename", '("moving_variance", "running_var")', '("moving_variance", "running_variance")', "running_var'"),
    ("rename", "    return name", "    return name if '.' in name else 'fc.weight'", "keeps its own"),
    ("rename", "for old, new in [\n", "for old, new in [\n        ('norm', 'bn'),\n", "rename('stem.norm.gamma') is"),
    ("report", "return missing, unexpected", "return unexpected, missing", "missing is what the network has"),
    ("report", "if name not in theirs]", "if theirs.get(name) != ours[name]]", "another shape is there"),
    ("report", "name in both if theirs[name]", "name in ours if theirs.get(name)", "compared where both have the name"),
    ("report", "return missing, unexpected, ", "return missing, ", "report returns three lists of names"),
    ("report", "return missing, unexpected, ", "return missing, [], ", "unexpected: [], and should be ['epoch']"),
    ("fold", " + bn.eps", "", "eps is left out"),
    ("fold", "np.sqrt(var + bn.eps)", "(var + bn.eps)", "its square root is the spread"),
    ("fold", "scale = gamma /", "scale = 1 /", "bn.weight is left out"),
    ("fold", "scale[:, None, None, None]", "scale[:, None, None]", "a batch norm scales outputs, axis 0"),
    ("fold", " * scale[:, None, None, None]", "", "the convolution is as it was"),
    ("fold", "beta + (begin - mean) * scale", "beta - mean * scale", "goes through the batch norm too"),
    ("fold", "beta + (begin - mean) * scale", "beta + begin - mean * scale", "that bias is scaled as well"),
    ("fold", "(begin - mean) * scale", "begin * scale - mean", "the mean is subtracted before it is scaled"),
    ("fold", "begin - mean", "begin", "the running mean is left out"),
    ("fold", "begin - mean", "begin + mean", "the mean is subtracted"),
    ("fold", "beta + (begin", "(begin", "bn.bias is left out"),
    ("fold", ", beta +", " + 0 * beta.mean() +", "fold returns a weight and a bias"),
    ("fold", "conv.weight.numpy()", "conv.weight.numpy()[:, :1]", "(3, 1, 3, 3), and should have (3, 3, 3, 3)"),
    ("new_head", "    net.eval()\n", "", "no weight of the backbone has changed, but bn1.running_mean has"),
    ("new_head", "    net.requires_grad_(False)\n", "", "its gradient is computed in vain"),
    ("new_head", NEW_HEAD[NEW_HEAD.index("    net.req") :], """    net.eval()
    net.fc = nn.Linear(4, classes)
    return net.parameters()
""", "after two steps conv1.weight of the backbone has changed"),
    ("new_head", "    return", "    net.requires_grad_(False)\n    return", "is frozen, too"),
    ("new_head", "    net.fc = nn.Linear(net.fc.weight.shape[1], classes)\n", "", "net.fc is the old one"),
    ("new_head", "shape[1], classes", "shape[1], 5", "has shape (5, 4), and should have (2, 4)"),
    ("new_head", "return net.fc.parameters()", "return 7", "returns the parameters to train, not 7"),
    ("attention", " / np.sqrt(q.shape[1])", "", "not divided by the square root of d"),
    ("attention", "np.sqrt(q.shape[1])", "q.shape[1]", "the scores are divided by d"),
    ("attention", "softmax(scores, 1)", "softmax(scores, 0)", "each column adds up to 1, and each row should"),
    ("attention", "if causal", "if False", "the mask is left out"),
    ("attention", "k.shape[0])) > 0", "k.shape[0])).T > 0", "the wrong way round"),
    ("attention", "k.shape[0])) > 0", "k.shape[0], -1)) > 0", "Each token may look at itself"),
    ("attention", "scores, -np.inf)", "scores, 0)", "a masked score of 0 still gets a weight"),
    ("attention", ATTENTION[ATTENTION.index("    if causal") : ATTENTION.index("    return")],
     """    weights = jt.softmax(scores, 1)
    if causal:
        weights = weights * jt.array(np.tri(q.shape[0], k.shape[0]).astype(np.float32))
""", "the rows no longer add up to 1"),
    ("attention", "weights @ v, weights", "weights @ (v + 1), weights", "what comes out is `weights @ v`"),
    ("attention", "weights @ v, weights", "weights @ v", "returns what comes out and the weights"),
]  # fmt: skip
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("fold", ".numpy() for v in", " for v in"),  # Vars
    ("report", "return missing, unexpected, ", "return set(missing), set(unexpected), "),
    ("new_head", "return net.fc.parameters()", "return [net.fc.weight, net.fc.bias]"),
    (
        "new_head",
        "    net.requires_grad_(False)\n",
        "    for p in net.parameters():\n        p.requires_grad = False\n",
    ),
    ("residual", "y.relu()", "y.maximum(0)"),
]


@pytest.mark.parametrize("name", ["conv1.weight", "layer2.downsample.1.running_var", "fc.bias", "layer1.bn2.weight"])
def test_their_names_are_told_apart_and_lead_back(name):
    assert theirs(name) != name
    assert made(RENAME)(theirs(name)) == name


def test_a_file_of_theirs_lacks_our_counters_and_has_something_that_nobody_asked_for():
    assert list(foreign({"bn1.weight": 1, "bn1.num_batches_tracked": 2})) == ["stem.norm.gamma", "epoch"]


def test_a_page_of_maps_has_no_script_and_its_pictures_show_the_numbers(tmp_path):
    photo = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)
    ramp = np.linspace(0, 1, 4).reshape(1, 2, 2) * np.ones((3, 1, 1))

    html = backbones.browse({"<b>": {"photo": photo, "conv1": ramp}}, channels=2)._repr_html_()
    other = backbones.browse({"<b>": {"photo": photo, "conv1": ramp}}, channels=2)._repr_html_()

    pictures = re.findall(r"base64,([\w+/=]+)", html)
    assert len(pictures) == 1 + 2  # the photograph, and two of three channels
    assert "<script" not in html and "&lt;b&gt;" in html
    assert set(re.findall(r'name="([\w-]+)"', html)).isdisjoint(re.findall(r'name="([\w-]+)"', other))
    shown = [read_bytes(tmp_path, code) for code in pictures]
    np.testing.assert_array_equal(shown[0], photo)
    assert shown[1][0, 0].tolist() == [0, 34, 78] and shown[1][1, 1].tolist() == [254, 232, 56]


def read_bytes(folder, code):
    (folder / "a.png").write_bytes(base64.b64decode(code))
    return read_png(folder / "a.png")


def test_maps_of_one_number_are_a_picture_too():
    assert backbones.browse({"flat": {"conv1": jt.zeros(2, 3, 4).numpy()}}).html.count("<img") == 2


def test_the_notebook_says_right_to_right_answers():
    said = filled("11_backbones", *RIGHT.values())

    assert verdicts(said) == {"right": 5, "not right": 0, "not done yet": 0, "another shape": 0}, said
    two, one = (int(n.replace(",", "")) for n in re.findall(r"256 channels in and out, +([\d,]+) parameters", said))
    assert two > 10 * one
    missing, unexpected, odd = re.findall(r"^    (?:missing|unexpected|with another shape) +(.*)$", said, re.MULTILINE)
    assert set(re.findall(r"\w+$", missing.replace(" ", "\n"), re.MULTILINE)) == {"num_batches_tracked"}
    assert (unexpected, odd) == ("epoch", "fc.weight fc.bias")
    assert "the same backbone: True" in said
    assert float(re.search(r"the scores differ by ([\d.e-]+) at most", said)[1]) < 1e-3
    apart, together = (int(count) for count in re.findall(r"nodes, +(\d+) kernels", said))
    assert together < apart * 2 / 3
    head, nothing = (int(percent) for percent in re.findall(r"(\d+)% of the held-out digits$", said, re.MULTILINE))
    assert head >= nothing + 5
    assert "LSTM              . . . X X X X X\n" in said
    assert "attention         X X X X X X X X\n" in said
    assert "causal attention  . . . X X X X X\n" in said


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = filled("11_backbones")

    assert verdicts(said) == {"right": 0, "not right": 0, "not done yet": 5, "another shape": 0}, said
    assert "runs: (2, 64, 24, 32) -> (2, 64, 24, 32)" in said
    plain, around = (float(n) for n in re.findall(r"the first layer's gradient is ([\d.e+-]+) of", said))
    assert plain < 1e-6 and around > 1e-2
    before, now = re.search(r"all ten digits: ([\d.]+)% before, ([\d.]+)% now", said).groups()
    assert float(before) > 95 and float(now) < float(before) - 4
    assert "the weights are the same: True" in said
