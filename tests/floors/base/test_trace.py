"""A trace as text: one line for each kernel, with all of its name."""

import jt_edu as jt


def test_a_trace_shows_whole_names_however_long():
    x = jt.rand(5, 4)

    with jt.trace() as t:
        ((x * 2 + 1).sqrt().exp() - x.mean(1, keepdims=True)).tanh().sync()

    head, *rows, total = repr(t).splitlines()
    assert head.split() == ["nodes", "ms", "kB", "compiled", "kernel"]
    assert [row.split()[-1] for row in rows] == [k.name for k in t.kernels]
    assert max(len(k.name) for k in t.kernels) > 27
    assert total.startswith(f"{len(t.kernels)} kernel")
