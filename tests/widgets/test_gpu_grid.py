"""A grid of threads: arrays of any shape, launches that hang, and texts that are no HTML."""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_widgets import gpu_grid
from tests.floors.cuda.kernels import made


def shown(body, threads=4, above=""):
    text = f"{above}@cuda.jit\ndef kernel(x):\n    t = cuda.threadIdx.x\n    {body}\n"
    return gpu_grid(made(text, text), 1, threads, np.zeros(4))


@pytest.mark.parametrize("shape", ["0", "(0, 3)", "(3, 0)", "()", "(2, 3, 4)"])
@pytest.mark.parametrize("dtype", ["bool", "float16", "complex64"])
def test_shared_arrays_of_any_shape_are_drawn(shape, dtype):
    picture = shown(f's = cuda.shared.array({shape}, "{dtype}")\n    cuda.syncthreads()')
    assert repr(picture).splitlines()[1] == "barrier 1: 4 in line 5"


def test_two_shared_arrays_of_one_name_are_both_drawn():
    above = '@cuda.jit(device=True)\ndef f(t):\n    s = cuda.shared.array(4, "int8")\n    s[t] = t\n'
    picture = shown('s = cuda.shared.array(4, "int8")\n    f(t)\n    cuda.syncthreads()', above=above)
    assert "<title>s[3]: nobody" in picture.html and "<title>s&#x27;[3]: written by thread 3" in picture.html


def test_a_kernel_that_never_ends_is_shown_where_it_stands():
    told = repr(shown("while True:\n        pass"))
    assert "stuck: 3 in line 2, 1 in line 4" in told and "barrier" not in told


def test_threads_that_wait_in_vain_are_shown_where_they_wait():
    assert "stuck: 2 in line 5, 2 have ended" in repr(shown("if t < 2:\n        cuda.syncthreads()"))


def test_a_text_with_tags_stays_a_text():
    name = "d['</title><script>alert(2)</script>']"
    body = f'd = {{}}; {name}, y = cuda.shared.array(4, "int8"), 1\n    cuda.syncthreads()'
    assert "<script" not in shown(body).html
    html = shown('x[t] = len("</text></svg><script>alert(1)</script>") # <img src=x>').html
    assert "<script" not in html and "<img" not in html


def test_what_the_picture_has_no_room_for_is_told():
    body = "\n    ".join(['s = cuda.shared.array((3, 20), "int8")', *["cuda.syncthreads()"] * 40])
    html = shown(body).html

    assert ">no room for lines 41 to 44; 32 barriers more; s beyond 3 rows of 16</text>" in html
    assert "[2, 15]: nobody" in html and ", 16]" not in html and html.count("<input") == 9
    assert "no room" not in shown("cuda.syncthreads()").html


def test_what_there_is_no_room_for_stands_in_lines_that_fit():
    body = "\n    ".join([f's{k} = cuda.shared.array((3, 20), "int8")' for k in range(8)])
    lines = re.findall(">([^<>]*beyond 3 rows of 16[^<>]*)</text>", shown(f"{body}\n    cuda.syncthreads()").html)
    assert len(lines) > 1 and max(map(len, lines)) <= 104


def test_it_is_saved_as_a_page_with_its_words(tmp_path):
    picture = shown("x[t] = t")
    page = picture.save(tmp_path / "block.html").read_text()

    assert picture.html in page and "prefers-color-scheme:dark" in picture.html
    assert "<title>kernel, block 0 of 1, 4 threads: nothing is wrong</title>" in page and "<pre>kernel, block 0" in page
    with pytest.raises(jt.ArgumentError, match=r"saved as \.html; found '.*block\.png'\. Try: block\.html"):
        picture.save(tmp_path / "block.png")


def test_a_kernel_without_a_launch_is_refused():
    with pytest.raises(jt.ArgumentError, match="no blocks and threads"):
        gpu_grid(made("@cuda.jit\ndef kernel():\n    pass\n", "alone"))


def test_below_a_kernel_opens_what_it_is_in_cpp_and_what_a_gpu_gives_it_or_what_to_install():
    html = shown("x[t] = t").html

    assert "<summary>CUDA C++</summary><pre" in html
    assert "x[t] = t;" in html
    assert "T4, 7.5" in html or "pip install" in html
