"""Workers: the same batches as without them, and an end that never takes longer than two seconds.

Those seconds are counted by `clock.py`, which a busy machine does not disturb. Tests that are not about them give a
worker all the time it needs to go home.
"""

import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import data
from jt_edu.base.errors import ArgumentError
from jt_edu.data import worker_pool
from tests.data import things
from tests.data.clock import LONG, Clock, note_sleeps, slept

ROOT = Path(__file__).resolve().parents[2]
SOON = 2.0  # seconds from an event to its end, by the clock of `clock.py`

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch.setattr)


@pytest.fixture(autouse=True)
def nobody_is_hurried(request, monkeypatch):
    if "clock" not in request.fixturenames:
        monkeypatch.setattr(worker_pool, "GRACE", LONG)


@pytest.fixture(autouse=True)
def nobody_is_left(nobody_is_hurried):
    yield
    assert all_gone({child.pid for child in multiprocessing.active_children()})


def lives(pid):
    """Whether a process runs: one that has ended, and waits for its parent to notice, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def group(pid):
    """The group of processes that this one is in; None where it is gone."""
    with suppress(ProcessLookupError):
        return os.getpgid(pid)


def until(is_so):
    """Wait until something is so; False if it never is."""
    end = time.monotonic() + LONG
    while time.monotonic() < end and not is_so():
        time.sleep(0.01)
    return is_so()


def all_gone(pids):
    return until(lambda: not any(map(lives, pids)))


def lists(loader):
    return [[part.tolist() for part in batch] for batch in loader]


# ---------------------------------------------------------------------------------------------------- the same batches


@pytest.mark.parametrize("attributes", [{}, {"shuffle": True}, {"drop_last": True}, {"batch_size": 1}], ids=str)
def test_two_workers_give_the_batches_that_none_gives(attributes, seed):
    def epochs(workers):
        jt.set_global_seed(seed)
        dataset = things.Squares(10, **{"batch_size": 3, **attributes}, num_workers=workers)
        return [lists(dataset) for _ in range(2 if attributes.get("shuffle") else 1)]

    assert epochs(2) == epochs(0)


def test_a_loader_gives_the_same_for_any_number_of_workers():
    def epochs(workers):
        loader = data.DataLoader(
            things.Squares(11), 2, shuffle=True, num_workers=workers, generator=7, persistent_workers=workers > 0
        )
        both = lists(loader), lists(loader)
        loader.terminate()
        return both

    assert epochs(3) == epochs(0)


def test_what_examples_draw_does_not_depend_on_workers_and_differs_in_each_epoch(python_backend):
    def epochs(workers):
        loader = data.DataLoader(things.Noisy(7), 2, num_workers=workers, generator=3)
        return lists(loader), lists(loader)

    first, second = epochs(0)

    assert epochs(2) == (first, second)
    assert first != second
    for drawn in list(zip(*first, strict=True))[1:]:
        assert len({str(x) for batch in drawn for x in batch}) == 7


@pytest.mark.parametrize("workers", [0, 1])
def test_the_numbers_of_the_training_loop_are_its_own(workers, seed, python_backend):
    def numbers():
        return random.random(), np.random.rand(), jt.rand(1).item()  # noqa: NPY002

    jt.set_global_seed(seed)
    loader = data.DataLoader(things.Noisy(4), num_workers=workers, generator=3)
    drawn = [numbers() for _ in loader]
    jt.set_global_seed(seed)

    assert [numbers() for _ in range(4)] == drawn


def test_endless_batches_have_the_same_order_whatever_is_drawn_between_them(seed):
    def walk(workers):
        jt.set_global_seed(seed)
        dataset = things.Squares(4, batch_size=2, shuffle=True, endless=True, num_workers=workers)
        return [(x.tolist(), jt.rand(1).item()) for (x, _), _ in zip(dataset, range(7), strict=False)]

    assert walk(2) == walk(0)


def test_batches_larger_than_a_pipe_arrive_whole():
    batches = list(things.Big(5, batch_size=2, num_workers=2))

    assert [sorted(set(b.numpy()[:, 0].tolist())) for b in batches] == [[0, 1], [2, 3], [4]]
    assert all((b.numpy() == b.numpy()[:, :1]).all() for b in batches)


def test_orders_larger_than_a_pipe_block_nobody():
    loader = data.DataLoader(range(400_000), 50_000, num_workers=1, prefetch_factor=8, collate_fn=np.array)

    assert [int(b.numpy()[-1]) for b in loader] == list(range(49_999, 400_000, 50_000))


# --------------------------------------------------------------------------------------------------------------- ends


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_keeps_its_type_and_names_the_example(workers):
    with pytest.raises(ZeroDivisionError) as caught:
        list(things.Odd("divide", batch_size=2, num_workers=workers))

    assert "in Odd.__getitem__(5)" in caught.value.__notes__
    if workers:
        assert "worker 0 of 2 says" in str(caught.value.__cause__)
        assert "return 1 // 0" in str(caught.value.__cause__)


def test_an_error_that_cannot_travel_is_told_in_words():
    with pytest.raises(data.WorkerError, match=r"NeedsTwo: left and right.*__getitem__\(5\)") as caught:
        list(things.Odd("own_error", batch_size=2, num_workers=2))
    assert 'raise NeedsTwo("left", "right")' in str(caught.value.__cause__)


def test_a_dataset_that_does_not_survive_the_way_says_why():
    with pytest.raises(OSError, match="the file is not here") as caught:
        list(things.Homesick(num_workers=2))
    assert "__setstate__" in str(caught.value.__cause__)


ENDS = [
    ("die", "SIGKILL"),
    ("leave", "exit code 3"),
    ("exit", "SystemExit: 3"),
    ("exit_beside_a_thread", "SystemExit: 3"),
]


@pytest.mark.parametrize(("how", "words"), ENDS)
def test_a_worker_that_ends_by_itself_is_an_error(how, words):
    with pytest.raises(data.WorkerError, match=f"worker 0 of 2.*{words}") as caught:
        list(things.Odd(how, batch_size=2, num_workers=2))

    assert multiprocessing.active_children() == []
    assert "__main__" not in str(caught.value), "a guard would not have helped"


def test_a_worker_that_lives_on_with_its_files_closed_is_an_error(monkeypatch):
    monkeypatch.setattr(worker_pool, "GRACE", 0.1)  # `join` would wait for the end of it

    with pytest.raises(data.WorkerError, match="worker 0 of 2, which is not heard any more"):
        list(things.Odd("go_deaf", batch_size=2, num_workers=2))


@pytest.mark.parametrize("how", ["die_with_a_program", "die_with_a_copy"])
def test_the_death_of_a_worker_is_heard_though_what_it_started_lives_on(how, monkeypatch, tmp_path):
    monkeypatch.setattr(worker_pool, "GRACE", 0.1)  # what lives on holds what `join` waits for
    sign = tmp_path / "child"

    with pytest.raises(data.WorkerError, match=r"worker 0 of 1.*SIGKILL"):
        list(data.DataLoader(things.Odd(how, sign=sign), 5, num_workers=1))

    child = int(sign.read_text())
    assert lives(child)
    os.kill(child, signal.SIGKILL)


def test_the_death_of_a_worker_is_heard_while_another_one_is_waited_for(clock, monkeypatch, tmp_path):
    plan = {"num_workers": 2, "prefetch_factor": 1, "worker_init_fn": partial(note_sleeps, tmp_path)}
    slow = iter(data.DataLoader(things.Odd("hang"), 1, sampler=[0, 1, 5, 3], **plan))
    next(slow), next(slow)
    other = next(c for c in multiprocessing.active_children() if c.name.endswith("1"))
    wait = worker_pool.wait

    def killing(*what):
        threading.Thread(target=other.kill).start()
        return wait(*what)

    monkeypatch.setattr(worker_pool, "wait", killing)
    clock.restart()
    with pytest.raises(data.WorkerError, match=r"worker 1 of 2.*SIGKILL"):
        next(slow)  # worker 0 hangs

    assert max(clock.seconds, *slept(tmp_path)) < SOON
    assert multiprocessing.active_children() == []


def test_a_worker_killed_between_two_batches_is_an_error_at_the_next(clock):
    walk = iter(things.Slow(20, batch_size=1, num_workers=2))
    pid = next(walk)[1].item()
    os.kill(pid, signal.SIGKILL)
    clock.killed.add(pid)
    clock.restart()

    with pytest.raises(data.WorkerError, match="SIGKILL"):
        for _ in walk:
            pass
    assert clock.seconds < SOON
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("how", ["hang", "ignore"])
def test_an_epoch_left_half_way_ends_its_workers_whatever_they_do(how, clock, tmp_path):
    sign, note = tmp_path / "it has begun", partial(note_sleeps, tmp_path)
    for _ in data.DataLoader(things.Odd(how, sign=sign), 1, sampler=[0, 5, 1], num_workers=2, worker_init_fn=note):
        assert len(multiprocessing.active_children()) == 2
        assert until(sign.exists)
        clock.restart()
        break

    assert max(clock.seconds, *slept(tmp_path)) < SOON
    assert multiprocessing.active_children() == []


def test_a_stopped_worker_is_ended_too(clock):
    walk = iter(things.Slow(20, batch_size=1, num_workers=1))
    os.kill(next(walk)[1].item(), signal.SIGSTOP)
    clock.restart()
    walk.close()

    assert clock.seconds < SOON
    assert multiprocessing.active_children() == []


SCRIPT = """
    import atexit, functools, multiprocessing, pathlib, time

    HERE = pathlib.Path(__file__).parent
    if __name__ == "__main__":
        atexit.register(lambda: (HERE / "script").write_text(str(clock.seconds)))  # told first: it goes last

    from jt_edu import data
    from tests.data import things
    from tests.data.clock import Clock, note_sleeps

    if __name__ == "__main__":
        clock = Clock()
        note = functools.partial(note_sleeps, HERE)
        hangs = things.Odd("hang")
        for batch in data.DataLoader(hangs, 1, sampler=[0, 5, 5, 5], num_workers=2, worker_init_fn=note):
            clock.restart()
            print(*[child.pid for child in multiprocessing.active_children()], flush=True)
            {then}
"""


@pytest.fixture
def start(tmp_path):
    """Start a script in a Python of its own; it is over when the test is."""
    started = []

    def start(text):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(text))
        started.append(subprocess.Popen(
            [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        ))  # fmt: skip
        return started[-1]

    yield start
    for script in started:
        with suppress(ProcessLookupError):
            os.killpg(script.pid, signal.SIGKILL)
        script.communicate()


@pytest.mark.parametrize(
    ("whom", "then"),
    [(whom, then) for whom in ("itself", "its group", "kill") for then in ("pass", "time.sleep(600)")],
    ids=lambda word: {"pass": "waiting", "time.sleep(600)": "training"}.get(word, word),
)
def test_an_interrupted_script_leaves_no_process_behind(start, tmp_path, whom, then):
    script = start(SCRIPT.format(then=then))
    members = {int(word) for word in script.stdout.readline().split()}
    assert len(members) == 2
    if whom == "its group":
        os.killpg(script.pid, signal.SIGINT)
    else:
        script.send_signal(signal.SIGINT if whom == "itself" else signal.SIGKILL)

    assert all_gone(members)
    _, errors = script.communicate(timeout=LONG)
    assert max(slept(tmp_path)) < SOON
    if whom == "kill":
        assert min(slept(tmp_path)) > 0, "each notices by itself that there are no more orders"
    else:
        assert float((tmp_path / "script").read_text()) < SOON
    assert errors.count("Traceback") == errors.count("KeyboardInterrupt") == (0 if whom == "kill" else 1)


@pytest.mark.parametrize(
    "walk",
    [
        "list(things.Squares(num_workers=2))",
        "list(data.DataLoader(things.Squares(4), num_workers=2, persistent_workers=True))",
        "try: list(things.Squares(num_workers=1))\nexcept BaseException: time.sleep(600 * (__name__[3] == 'p')); raise",
    ],
    ids=["a dataset", "a loader", "caught"],
)
def test_a_script_without_a_guard_is_told_so_once_and_leaves_nobody_behind(start, walk):
    script = start(f"import time\nfrom jt_edu import data\nfrom tests.data import things\n{walk}\n")
    _, errors = script.communicate(timeout=LONG)

    assert script.returncode == 1
    assert errors.count("Traceback") == 1, "no worker says anything itself"
    *_, sentence, hint = errors.splitlines()
    assert "hidden: " in hint
    assert sentence.startswith("jt_edu.data.worker_pool.WorkerError: a script that starts workers keeps")
    assert "`if __name__ == '__main__':`" in errors
    assert "script.py" in sentence
    everybody = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    assert all_gone({pid for pid in everybody if group(pid) == script.pid})


def test_a_timeout_is_kept_and_does_not_count_the_start(monkeypatch):
    walk = iter(data.DataLoader(things.Odd("hang"), 1, sampler=[0, 5], num_workers=1, timeout=0.3))
    asked, wait = [], worker_pool.wait

    def patient(what, timeout=None):
        asked.append(timeout)
        return wait(what, timeout if len(asked) == 3 else None)  # what comes may come late on a busy machine

    monkeypatch.setattr(worker_pool, "wait", patient)
    monkeypatch.setattr(worker_pool, "LOOK", LONG)
    next(walk)
    begin = time.monotonic()

    with pytest.raises(data.WorkerError, match=r"timeout=0\.3 s; found nothing from worker 0 of 1"):
        next(walk)
    assert time.monotonic() - begin > 0.2
    assert asked[0] == LONG and len(asked) == 3 and all(0 < left <= 0.3 for left in asked[1:])


# ------------------------------------------------------------------------------------------------------ ahead of time


@pytest.mark.parametrize(
    ("plan", "made"),
    [
        ({"num_workers": 1}, 2), ({"num_workers": 2, "prefetch_factor": 3}, 6),
        ({"num_workers": 2, "prefetch_factor": 1}, 2), ({"num_workers": 0}, 1),
    ],
    ids=str,
)  # fmt: skip
def test_so_many_batches_are_made_ahead_and_no_more(tmp_path, plan, made):
    walk = iter(data.DataLoader(things.Counted(tmp_path), 1, **plan))
    next(walk)

    assert until(lambda: len(list(tmp_path.iterdir())) >= made)
    walk.close()  # a worker makes what it was asked for before it goes home
    assert len(list(tmp_path.iterdir())) == made


def test_a_small_buffer_holds_one_batch_at_a_time(tmp_path):
    walk = iter(things.Counted(tmp_path, batch_size=1, num_workers=2, prefetch_factor=2, buffer_size=1))
    for _ in range(6):
        next(walk)
    walk.close()  # a worker makes what it was asked for before it goes home

    assert len(list(tmp_path.iterdir())) == 6


# ------------------------------------------------------------------------------------------------ workers that stay


def test_workers_go_home_after_an_epoch_unless_they_are_asked_to_stay():
    def processes(**plan):
        loader = data.DataLoader(things.Slow(4), 1, num_workers=1, **plan)
        both = [[pid for _, (pid,) in lists(loader)] for _ in range(2)]
        rest = len(multiprocessing.active_children())
        loader.terminate()
        return [len(set(pids)) for pids in both], len(set(both[0] + both[1])), rest

    assert processes() == ([1, 1], 2, 0)
    assert processes(persistent_workers=True) == ([1, 1], 1, 1)


def test_workers_that_stay_draw_anew_in_each_epoch_as_others_would(python_backend):
    def epochs(**plan):
        loader = data.DataLoader(things.Noisy(4), 2, generator=1, **plan)
        return lists(loader), lists(loader)

    assert epochs(num_workers=2, persistent_workers=True) == epochs()


def test_a_worker_that_dies_between_two_epochs_is_replaced():
    loader = data.DataLoader(things.Squares(4), 2, num_workers=2, persistent_workers=True)
    first = lists(loader)
    victim = loader._crew.members[0].process
    os.kill(victim.pid, signal.SIGKILL)
    victim.join(LONG)

    assert lists(loader) == first
    assert victim not in [member.process for member in loader._crew.members]
    loader.terminate()


def test_a_loader_that_nobody_holds_keeps_no_workers():
    loader = data.DataLoader(things.Slow(4), 1, num_workers=1, persistent_workers=True)
    pids = {pid for _, (pid,) in lists(loader)}
    del loader

    assert all_gone(pids)


def test_two_walks_at_once_have_workers_of_their_own():
    dataset = things.Squares(4, batch_size=2, num_workers=1, persistent_workers=True)
    once = lists(dataset)

    assert [(a, b) for a, b in zip(dataset, dataset, strict=True) if a[0].tolist() != b[0].tolist()] == []
    assert lists(dataset) == once
    assert len(multiprocessing.active_children()) == 1
    dataset.set_attrs(num_workers=0)
    assert multiprocessing.active_children() == []


# ------------------------------------------------------------------------------------------------------------ streams


@pytest.mark.parametrize(
    ("drop", "batches"), [(False, [[0, 2], [1, 3], [4, 6], [5], [8]]), (True, [[0, 2], [1, 3], [4, 6]])]
)
def test_workers_share_a_stream_and_take_turns(drop, batches):
    class_of_nine = data.DataLoader(things.Every(), 2, num_workers=2, drop_last=drop)

    assert [b.tolist() for b in class_of_nine] == batches


def test_a_worker_whose_stream_ends_is_passed_over():
    def numbers(**plan):
        return [b.tolist()[0] for b, _, _ in data.DataLoader(things.Uneven(), 1, num_workers=3, **plan)]

    expected = [0, 100, 200, 101, 201, 102, 202, 103, 203, 204, 205, 206]
    assert numbers(prefetch_factor=1) == numbers(prefetch_factor=9) == expected


def test_each_worker_has_a_seed_of_its_own_in_each_epoch():
    def epochs(**plan):
        loader = data.DataLoader(things.Uneven(), None, num_workers=2, generator=5, **plan)
        return [[tuple(int(x) for x in one) for one in loader] for _ in range(2)]

    first, second = epochs()

    assert [first, second] == epochs(persistent_workers=True)
    seeds = {(number // 100, seed) for number, seed, _ in first}
    assert len(seeds) == 2
    assert seeds.isdisjoint({(number // 100, seed) for number, seed, _ in second})
    assert len({drawn for _, _, drawn in first + second}) == 10


# ------------------------------------------------------------------------------------------------- what a worker gets


def test_a_worker_is_prepared_and_runs_under_the_flags_of_its_parent():
    with jt.flag_scope(backend="python"):
        loader = data.DataLoader(things.Greeted(4), 1, num_workers=2, worker_init_fn=things.greet)

        assert lists(loader) == [[[1000], [True]], [[2000], [True]]] * 2


def test_what_cannot_be_pickled_is_refused_in_words():
    with pytest.raises(ArgumentError, match=r"can be pickled.*lambda.*num_workers=0"):
        list(data.DataLoader([1, 2], num_workers=1, collate_fn=lambda examples: examples))


def test_a_dataset_of_a_notebook_is_refused_with_a_way_out():
    cell = """
        from jt_edu import data
        class Numbers(data.Dataset):
            def __getitem__(self, k):
                return k
        try:
            list(Numbers(num_workers=2).set_attrs(total_len=4))
        except ValueError as error:
            print(error)
        print([b.tolist() for b in Numbers().set_attrs(total_len=2)])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(cell)],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=True,
        cwd=ROOT,
    )

    assert re.search(r"Numbers, which is defined in a notebook.*%%writefile numbers\.py.*num_workers=0", done.stdout)
    assert "[[0, 1]]" in done.stdout


def test_a_worker_starts_no_workers():
    with pytest.raises(ArgumentError, match="starts no workers itself"):
        list(things.Nested(num_workers=1))


def test_outside_of_workers_there_is_no_worker():
    assert data.get_worker_info() is None
