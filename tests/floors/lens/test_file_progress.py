"""Who waits for a large file is told how far it is; who does not wait sees nothing."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.lens.file_progress import metered
from tests.floors.lens.test_compile_progress import Terminal, clock

MB = 10**6


def test_after_a_second_a_line_tells_how_much_there_is_and_how_long_it_will_take():
    out = Terminal()
    with metered("reading", "a/net.pth", 40 * MB, out, clock(0.0, 0.5, 2.0, 3.0)) as seen:
        for _ in range(3):
            seen(10 * MB)

    assert out.lines() == [
        "reading net.pth: 20 of 40 MB  ############............  0:02 left",
        "reading net.pth: 30 of 40 MB  ##################......  0:01 left",
    ]
    assert out.screen() == ""


def test_of_a_file_whose_length_nobody_knows_it_tells_how_much_has_come():
    out = Terminal()
    with metered("downloading", "net.pth", 0, out, clock(0.0, 2.0)) as seen:
        seen(3 * MB)

    assert out.lines() == ["downloading net.pth: 3 MB"]


@pytest.mark.parametrize("suffix", [".npz", ".pth", ".safetensors"])
def test_files_of_each_format_are_read_and_written_under_its_eyes(suffix, tmp_path, monkeypatch):
    out = Terminal()
    monkeypatch.setattr("jt_edu.lens.waiting_line.screen", lambda: out)
    monkeypatch.setattr("jt_edu.lens.waiting_line.WAIT", 0.0)

    jt.save({"a": np.ones(300_000)}, tmp_path / f"a{suffix}")
    jt.load(tmp_path / f"a{suffix}")

    verbs = [line.partition(":")[0] for line in out.lines()]
    assert list(dict.fromkeys(verbs)) == [f"writing a{suffix}", f"reading a{suffix}"]
