"""Recipe: two ways to multiply rows of two arrays, and a sum into memory that is there, timed and compared.

`test_recipe.py` runs it as a script: statements find what they call in `__main__`.
"""

import jt_edu as jt
from jt_edu.benchmark import Compare, Timer


def batched_dot_mul_sum(a, b):
    return (a * b).sum(-1)


def batched_dot_bmm(a, b):
    a = a.reshape(-1, 1, a.shape[-1])
    b = b.reshape(-1, b.shape[-1], 1)
    return a.bmm(b).flatten(-3)


def batched(way, x, threads):
    return Timer(
        f"batched_dot_{way}(x, x)",
        f"from __main__ import batched_dot_{way}",
        globals={"x": x},
        num_threads=threads,
        label="Batched dot",
        sub_label=f"{list(x.shape)}",
        description=way,
    ).blocked_autorange(min_run_time=0.001)


def added(threads):
    return Timer(
        "jt.add(x, y, out=out)",
        """
            n = 64
            x = jt.ones((n, n))
            y = jt.ones((n, 1))
            out = jt.empty((n, n))
        """,
        num_threads=threads,
    ).blocked_autorange(min_run_time=0.001)


def main():
    numbers = (1, jt.get_num_threads() + 1)
    results = []
    for shape in ((1, 64), (64, 64)):
        x = jt.ones(shape)
        assert jt.allclose(batched_dot_mul_sum(x, x), batched_dot_bmm(x, x))
        results += [batched(way, x, threads) for threads in numbers for way in ("mul_sum", "bmm")]
    table = Compare([*results, *map(added, numbers)])
    table.print()
    table.trim_significant_figures()
    table.colorize()
    table.print()


if __name__ == "__main__":
    main()
