"""Notebook 11: names of strangers, a page of feature maps, and what the notebook shows."""

import base64
import re

import numpy as np

import jt_edu as jt
from jt_edu.data.image import read_png
from jt_exercises import backbones
from jt_exercises.backbones.foreign import foreign
from tests.story.test_course_answers import run, untouched


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


def test_the_notebook_with_right_answers_measures_what_it_claims():
    said = run("11_backbones", {}, solved=True)

    assert float(re.search(r"the scores differ by ([\d.e-]+) at most", said)[1]) < 1e-3
    apart, together = re.findall(r"(\d+) nodes, +(\d+) kernels", said)
    assert int(together[0]) < int(apart[0]) * 2 / 3
    assert together[1] == apart[1]  # a batch norm needs no kernel of its own
    head, nothing = (int(percent) for percent in re.findall(r"(\d+)% of the held-out digits$", said, re.MULTILINE))
    assert head >= nothing + 5
    assert "LSTM              . . . X X X X X\n" in said
    assert "attention         X X X X X X X X\n" in said
    assert "causal attention  . . . X X X X X\n" in said


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = untouched("11_backbones")

    assert "runs: (2, 64, 24, 32) -> (2, 64, 24, 32)" in said
    plain, around = (float(n) for n in re.findall(r"the first layer's gradient is ([\d.e+-]+) of", said))
    assert plain < 1e-6 and around > 1e-2
    before, now = re.search(r"all ten digits: ([\d.]+)% before, ([\d.]+)% now", said).groups()
    assert float(before) > 95 and float(now) < float(before) - 4
    assert "the weights are the same: True" in said
