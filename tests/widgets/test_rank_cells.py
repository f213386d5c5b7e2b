"""%%ranks and %%mpirun in IPython, without a browser: orders, columns, errors, what stays."""

import re
import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import jt_edu as jt
from jt_edu.mpi.mpi4py_backend import launch
from jt_edu.mpi.trace.network import Network
from jt_widgets import pages
from jt_widgets.orders import read_order
from jt_widgets.publisher import published


@pytest.fixture(scope="module")
def shell():
    found = InteractiveShell.instance()
    found.run_cell("%load_ext jt_widgets\nimport jt_widgets, jt_edu as jt, numpy as np")
    yield found
    InteractiveShell.clear_instance()


@pytest.fixture
def cell(shell, monkeypatch):
    """A function: runs a cell; answers what it printed, what it displayed, and its error."""
    monkeypatch.setattr(pages, "EVERY", 3600.0)  # no cell is a long one because the machine is busy
    shell.user_ns.pop("ranks", None)

    def run(text):
        with capture_output() as caught:
            result = shell.run_cell(text)
        run.said = [output.data for output in caught.outputs]
        return caught.stdout, [data["text/plain"] for data in run.said], result.error_in_exec

    return run


def html(cell):
    return next(data["text/html"] for data in cell.said if "<table" in data.get("text/html", ""))


# orders


@pytest.mark.parametrize("line", ["4", "-n 4", "-n=4", "-np 4", "n=4", "4  # four of them"])
def test_the_number_of_ranks_can_be_said_in_several_ways(line):
    assert read_order(line, "ranks").size == 4


def test_faults_and_policies_are_read():
    order = read_order("3 policy=random seed=7 slow=2:3.0,0:2 drop=1:10 delay=0-1:5000 lose=1>0:2 synchronous", "ranks")

    assert order.given == {"policy": "random", "seed": 7, "synchronous": True}
    assert order.faults == {"slow": {2: 3.0, 0: 2}, "drop": {1: 10}, "delay": {(0, 1): 5000}, "lose": {(1, 0): 2}}
    assert order.options(None)["faults"].slow == {2: 3.0, 0: 2}


def test_how_computing_takes_time_and_how_long_ranks_wait_are_read():
    assert read_order("2 computing=measured timeout=2.5", "ranks").given == {"computing": "measured", "timeout": 2.5}
    assert read_order("2 computing=modelled", "mpi").given == {"computing": "modelled"}


def test_a_network_and_a_schedule_are_read():
    order = read_order("2 network=latency:100,byte:0.5 policy=0,1,0 --view --fresh --go-on", "ranks")

    assert order.given == {"network": Network(latency=100, byte=0.5), "policy": [0, 1, 0]}
    assert (order.view, order.fresh, order.go_on) == (True, True, True)


@pytest.mark.parametrize(
    ("line", "magic", "words"),
    [
        ("polcy=random", "ranks", r"%%ranks knows policy=.*found 'polcy=random'. Try: policy="),
        ("--views", "ranks", "Try: --view"),
        ("timeout=soon", "ranks", "timeout= takes seconds; found 'soon'"),
        ("computing=modelled", "mpirun", "%%mpirun knows --timeout=.*found 'computing=modelled'"),
        ("slow=2", "ranks", "slow= takes pairs such as 2:3.*found '2'"),
        ("delay=0:5", "ranks", "delay= takes pairs"),
        ("seed=x", "ranks", "seed= takes a whole number; found 'x'"),
        ("-n four", "ranks", "takes the number of ranks; found 'four'"),
        ("slow=2:3", "mpirun", "%%mpirun knows --timeout=.*found 'slow=2:3'"),
        ("--timeout soon", "mpirun", "takes seconds; found 'soon'"),
        ("network=speed:3", "ranks", "speed"),
    ],
)
def test_an_order_that_makes_no_sense_says_what_would(line, magic, words):
    with pytest.raises((jt.ArgumentError, TypeError), match=words):
        read_order(line, magic)


def test_replay_needs_a_cell_before():
    with pytest.raises(jt.ArgumentError, match="as in the last cell; found no cell before"):
        read_order("policy=replay", "ranks").options(None)


# cells


def test_ranks_are_kept_under_their_name(cell, shell):
    _, texts, error = cell("%%ranks 3\nx = comm.allreduce(rank)\nprint('rank', rank)\nx")

    assert error is None
    assert texts == ["rank 0\n    rank 0\n    3\nrank 1\n    rank 1\n    3\nrank 2\n    rank 2\n    3"]
    assert shell.user_ns["ranks"][2].x == 3
    assert len(shell.user_ns["ranks"].record.calls) == 3


def test_without_a_number_ranks_go_on_and_with_another_they_begin_anew(cell, shell):
    cell("%%ranks 3\nx = 1")
    assert cell("%%ranks\nx + rank")[1] == ["rank 0\n    1\nrank 1\n    2\nrank 2\n    3"]

    assert "NameError" in cell("%%ranks 2\nx")[1][0]
    cell("%%ranks 2\nx = 1")
    assert "NameError" in cell("%%ranks 2 --fresh\nx")[1][0]


def test_names_of_the_notebook_are_copied_and_ipythons_own_are_not(cell, shell):
    cell("scale = 3\ndef f(a): return a * scale")

    assert cell("%%ranks 2\nscale += rank\nf(1)")[1] == ["rank 0\n    3\nrank 1\n    4"]
    assert cell("%%ranks 2\nopen.__module__, 'In' in globals()")[1][0].count("('functools'") <= 2
    assert shell.user_ns["scale"] == 3


def test_mpi_is_another_name_for_jittors_users(cell):
    assert cell("%%mpi -n 2\njt.mpi.world_size(), jt.rank")[1] == ["rank 0\n    (2, 0)\nrank 1\n    (2, 1)"]


def test_an_error_is_shown_once_and_raised_in_few_words(cell):
    printed, texts, error = cell("%%ranks 2\nif rank == 1:\n    1 / 0\ncomm.barrier()")

    assert "rank 1\n    line 3\n        1 / 0\n    ZeroDivisionError: division by zero" in texts[0]
    assert isinstance(error, jt.base.errors.RankError)
    assert printed.splitlines() == [
        "rank 1 failed, and with it all ranks: ZeroDivisionError: division by zero",
        "What happened is shown above, below the columns.",
    ]


def test_a_line_is_that_of_the_cell_as_the_notebook_numbers_it(shell, cell):
    for number in (1, 2):
        with capture_output() as caught:
            shell.run_cell("%%ranks 2 --go-on\ncomm.recv(source=1 - rank)", store_history=True)
        said = caught.outputs[-1].data["text/plain"]

        current = len(shell.user_ns["In"]) - 1
        assert f"at cell {current}:2: comm.recv(source=1 - rank)" in said, number
    assert shell.user_ns["In"][current].startswith("get_ipython().run_cell_magic('ranks'")


def test_go_on_shows_what_fails_and_raises_nothing(cell):
    _, texts, error = cell("%%ranks 2 --go-on\ncomm.recv(source=1 - rank)")

    assert error is None
    assert "a circle: 0 -> 1 -> 0" in texts[0]
    assert 'aria-label="rank 0 waits for rank 1; rank 1 waits for rank 0"' in html(cell)


@pytest.mark.parametrize(
    ("text", "words"), [("1 +", "line 2: 1 +"), ("%time 1", "%time 1"), ("x = 'a", "line 2: x = 'a")]
)
def test_what_is_no_python_is_told_with_its_line_and_nothing_else(cell, text, words):
    printed, _, error = cell(f"%%ranks 2\n{text}")

    assert isinstance(error, jt.ArgumentError)
    assert words in printed
    assert "Traceback" not in printed


def test_lines_are_numbered_as_the_notebook_shows_them(cell, shell):
    cell("%%ranks 2\n\ncomm.barrier()")

    assert {c.line.rpartition(":")[0].rpartition(":")[2] for c in shell.user_ns["ranks"].record.calls} == {"3"}


def test_the_columns_hold_what_ranks_print_and_show_and_nothing_that_they_print_is_html(cell):
    show = "from IPython.display import HTML, display\nprint('<b>x</b>')\ndisplay(HTML(f'<i>{rank}</i>'))\n[rank]"
    cell(f"%%ranks 2\n{show}")

    page = html(cell)
    assert page.index("rank 0</th>") < page.index("rank 1</th>")
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<i>0</i>" in page and "<i>1</i>" in page
    assert "[0]" in page and "[1]" in page


def test_what_is_displayed_outside_of_ranks_goes_where_it_always_went(cell, shell):
    before = shell.display_pub
    cell("%%ranks 2\n1")

    assert shell.display_pub is before
    shown = cell("from IPython.display import HTML, display\ndisplay(HTML('<i>x</i>'))")[1]
    assert shown == ["<IPython.core.display.HTML object>"]


def test_clear_output_clears_the_page_of_its_rank(cell):
    text = "from IPython.display import clear_output\nprint('old')\nif rank == 0:\n    clear_output()\nprint('new')"

    assert cell(f"%%ranks 2\n{text}")[1] == ["rank 0\n    new\nrank 1\n    old\n    new"]


def test_outside_of_ranks_output_is_cleared_when_something_new_comes_if_that_is_asked_for(shell, monkeypatch):
    asked, real = [], shell.display_pub
    monkeypatch.setattr(type(real), "clear_output", lambda self, wait=False: asked.append(wait))

    with published(shell):
        for wait in (True, False):
            shell.display_pub.clear_output(wait)

    assert asked == [True, False]


def test_many_ranks_that_say_the_same_share_a_column(cell):
    cell("%%ranks 12\n'five' if rank == 5 else 0")

    assert html(cell).count("<th ") == 2
    assert all(f">{name}</th>" in html(cell) for name in ("ranks 0-4, 6-11", "rank 5"))


def test_figures_are_each_ranks_own_even_if_they_draw_in_turns(cell):
    pytest.importorskip("matplotlib").use("Agg")
    cell("import matplotlib.pyplot as plt\nplt.close('all')")  # those of other tests in this process
    text = "plt.plot([rank] * (rank + 1))\ncomm.barrier()\nlen(plt.gca().lines[0].get_xdata())"

    _, texts, error = cell(f"%%ranks 3\n{text}")

    assert error is None
    assert [texts[0].count(f"\n    {n}\n") + texts[0].endswith(f"\n    {n}") for n in (1, 2, 3)] == [1, 1, 1]
    assert texts[0].count("<Figure") == 3
    assert cell("print(plt.get_fignums())")[0] == "[]\n"


def test_a_widget_of_a_rank_stands_below_the_columns(cell):
    cell("%%ranks 2\njt_widgets.graph(jt.array([1.0]) + rank)")

    kinds = ["application/vnd.jupyter.widget-view+json" in data for data in cell.said]
    assert kinds == [False, False, True, False, True]
    assert [data["text/plain"] for data in cell.said[1::2]] == ["rank 0:", "rank 1:"]


def test_a_view_of_the_record_is_shown_where_it_is_ordered(cell):
    cell("%%ranks 2 --view\ncomm.barrier()")

    assert "2 ranks made 2 calls" in cell.said[-1]["text/plain"]


def test_a_long_cell_shows_what_there_is_while_it_runs_and_in_the_end_everything_in_the_same_place(
    cell, monkeypatch, tmp_path
):
    show = pages.Live.show

    def shows(live, columns):
        show(live, columns)
        for rank in (0, 1):
            if f"begun {rank}" in repr(columns):
                (tmp_path / str(rank)).touch()

    monkeypatch.setattr(pages, "EVERY", 0.0)
    monkeypatch.setattr(pages.Live, "show", shows)
    text = "import os\nprint('begun', rank)\n" + f"while not os.path.exists(f'{tmp_path}/{{rank}}'):\n    pass"

    _, texts, error = cell(f"%%ranks 2\n{text}\nprint('done')")

    assert error is None
    assert texts[0] == "rank 0\n    begun 0"
    assert texts[-1] == "rank 0\n    begun 0\n    done\nrank 1\n    begun 1\n    done"
    assert len(texts) >= 3


def test_real_work_of_a_slow_rank_takes_longer_on_its_clock_if_that_is_ordered(cell, shell):
    def ends(order):
        _, _, error = cell(f"%%ranks 2 {order}\nx = jt.ones(256, 256)\n(x @ x).sync()\nmine = comm.now")
        assert error is None
        return shell.user_ns["ranks"]["mine"]

    assert ends("slow=1:3") == [0, 0]
    zero, one = ends("slow=1:3 computing=modelled")
    assert one == 3 * zero > 0
    assert min(ends("computing=measured")) > 0


def test_a_way_of_computing_that_is_not_known_is_refused(cell):
    _, _, error = cell("%%ranks 2 computing=guessed\n1")

    assert "guessed" in str(error)


def test_a_rank_that_waits_too_long_is_told(cell):
    _, _, error = cell("%%ranks 2 timeout=2\nif rank == 1:\n    comm.compute(3_000_000_000)\ncomm.barrier()")

    assert "rank 0 waited 2 s of virtual time for barrier()" in str(error)


def test_the_last_schedule_can_be_replayed(cell, shell):
    cell("%%ranks 3 policy=random seed=4\nfor _ in range(5):\n    comm.barrier()")
    schedule = shell.user_ns["ranks"].record.schedule
    cell("%%ranks policy=replay\nfor _ in range(5):\n    comm.barrier()")

    assert shell.user_ns["ranks"].record.schedule == schedule


def test_help_says_what_can_be_ordered(shell):
    for name, words in (
        ("ranks", "slow=2:3.0"),
        ("ranks", "computing=modelled"),
        ("mpi", "%%ranks"),
        ("mpirun", "--timeout"),
    ):
        assert words in shell.magics_manager.magics["cell"][name].__doc__


def test_loading_the_extension_and_importing_again_change_nothing(cell, shell):
    before = shell.magics_manager.magics["cell"]["ranks"]
    cell("%load_ext jt_widgets\nimport jt_widgets")

    assert shell.magics_manager.magics["cell"]["ranks"].__doc__ == before.__doc__
    assert cell("%%ranks 2\nrank")[2] is None


# real ranks

SCRIPT = """
import random
jt.set_global_seed(3)
np.random.seed(rank)
random.seed(rank + 1)
w = jt.random((3,)).cast('float64')
x = np.random.randn(5, 3)
comm.barrier()
y = (jt.array(x) * w).sum().mpi_all_reduce()
print(rank, f(rank), float(np.random.rand()).hex(), random.random().hex(), y.item().hex())
comm.allgather(data['k'] * rank)
"""
real = pytest.mark.skipif(launch.find() is None, reason="there is no mpirun")


@real
def test_the_same_cell_gives_the_same_numbers_on_simulated_and_on_real_ranks(cell, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", sys.path[0])
    cell("scale = 3\ndata = {'k': 2}\ndef f(a): return a * scale")

    _, simulated, error = cell(f"%%ranks 3\n{SCRIPT}")
    _, under_mpi, trouble = cell(f"%%mpirun -n 3\n{SCRIPT}")

    assert error is None and trouble is None
    assert simulated[-1] == under_mpi[-1]
    assert "[0, 2, 4]" in simulated[-1]
    assert len(set(re.findall(r"0x1\.\w+", simulated[-1]))) == 2 * 3 + 1


@real
def test_what_fails_on_real_ranks_is_told_as_on_simulated_ones(cell, shell):
    _, texts, error = cell("%%mpirun -n 2\nif rank == 1:\n    1 / 0\ncomm.barrier()")

    assert isinstance(error, jt.base.errors.RankError)
    assert "rank 1\n    line 3\n        1 / 0\n    ZeroDivisionError: division by zero" in texts[-1]
    assert shell.user_ns["mpirun"].failed_rank == 1


@real
def test_flags_of_the_notebook_hold_for_real_ranks_too(cell):
    with jt.flag_scope(fuse=False):
        assert cell("%%mpirun -n 1\njt.flags.fuse")[1][-1] == "rank 0\n    False"


@real
def test_a_real_job_that_takes_too_long_is_ended(cell):
    _, texts, error = cell("%%mpirun -n 2 --timeout 1\nimport time\ntime.sleep(600)")

    assert isinstance(error, TimeoutError)
    assert "the job ends within 1 s" in texts[-1]


@real
def test_what_cannot_be_copied_is_named_and_what_is_reported_comes_back(cell, shell):
    cell("steps = (k for k in range(3))")

    _, texts, _ = cell(
        "%%mpirun -n 2 --go-on\nfrom jt_edu.mpi.mpirun_jobs.run import report\nreport(rank * 10)\nnext(steps)"
    )

    assert "steps stays in the notebook: it cannot be copied" in texts[-1]
    assert "NameError: name 'steps' is not defined" in texts[-1]
    assert shell.user_ns["mpirun"].results[0] in ([0], [])


def test_without_mpirun_the_way_out_is_told(cell, monkeypatch):
    monkeypatch.setattr(launch, "find", lambda *_: None)

    printed, _, error = cell("%%mpirun -n 2\n1")
    assert isinstance(error, jt.base.errors.RankError)
    assert "%%ranks 4" in printed

    printed, _, error = cell("%%mpirun -n 2 --go-on\n1")
    assert error is None
    assert "%%ranks 4" in printed
