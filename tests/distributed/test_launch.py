"""The launcher: several processes, told who they are, and none left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jt_edu.distributed.launch import launch, parsed
from tests.distributed.ranks import LONG, until
from tests.house.plan import ROOT

SHOW = """
import os, sys
names = "MASTER_ADDR MASTER_PORT WORLD_SIZE RANK LOCAL_RANK LOCAL_WORLD_SIZE".split()
print(*[os.environ[n] for n in names], sys.argv[1:])
"""
FAIL = """
import os, sys, time, subprocess
from pathlib import Path
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, os.getpid())
sys.stdout.flush()
Path(__file__).with_suffix("." + os.environ["RANK"]).touch()
if os.environ["RANK"] == "1":
    while len(list(Path(__file__).parent.glob("program.[0-9]"))) < int(os.environ["WORLD_SIZE"]):
        time.sleep(0.01)
    CODE
time.sleep(600)
"""


@pytest.fixture
def program(tmp_path):
    def write(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return str(path)

    return write


def start(*arguments, **named):
    return subprocess.Popen(
        [sys.executable, "-m", "jt_edu.distributed.launch", *arguments], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, **named,
    )  # fmt: skip


def pids(text):
    return [int(number) for line in text.splitlines() if "child" in line for number in line.split()[3:]]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def all_end(numbers):
    """Come back when all of these processes have ended, long before they would by themselves."""
    until(lambda: not any(map(alive, numbers)))


def test_each_rank_is_told_who_it_is_and_its_lines_say_so(program, capfd):
    code = launch(["--nproc_per_node=3", "--master_port=29123", program(SHOW), "--lr", "0.1"])

    lines = sorted(capfd.readouterr().out.splitlines())
    assert code == 0 and lines == [
        f"[rank {r}] 127.0.0.1 29123 3 {r} {r} 3 ['--local_rank={r}', '--lr', '0.1']" for r in range(3)
    ]


def test_on_several_machines_ranks_go_on_counting(program, capfd):
    more = ["--nnodes=3", "--node_rank=2", "--master_addr=10.0.0.1", "--use_env"]

    assert launch(["--nproc_per_node=2", *more, program(SHOW)]) == 0

    lines = sorted(capfd.readouterr().out.splitlines())
    assert lines == [f"[rank {r}] 10.0.0.1 29500 6 {r} {r - 4} 2 []" for r in (4, 5)]


def test_a_module_is_run_as_one(program, capfd, monkeypatch, tmp_path):
    program(SHOW)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    assert launch(["--use_env", "-m", "program", "x"]) == 0

    assert capfd.readouterr().out.endswith("['x']\n")


@pytest.mark.parametrize(("how", "code", "words"), [
    ("sys.exit(7)", 7, "failed with code 7"),
    ("1 / 0", 1, "failed with code 1"),
    ("os.kill(os.getpid(), 9)", 137, "was ended by signal 9"),
])  # fmt: skip
def test_one_that_fails_ends_the_rest_with_its_code(program, how, code, words):
    launcher = start("--nproc_per_node=3", "--master_port=0", program(FAIL.replace("CODE", how)))

    text = launcher.communicate(timeout=LONG)[0]

    assert launcher.returncode == code and f"rank 1 {words}" in text
    assert len(pids(text)) == 6
    all_end(pids(text))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whoever_ends_the_launcher_ends_the_ranks(program, how):
    launcher = start("--nproc_per_node=2", "--master_port=0", program(FAIL.replace("CODE", "pass")))
    lines = [launcher.stdout.readline(), launcher.stdout.readline()]

    launcher.send_signal(how)
    launcher.wait(LONG)

    ranks = pids("".join(lines))
    own = ranks if how != signal.SIGKILL else ranks[1::2]  # nobody is left who could end what the ranks started
    assert len(ranks) == 4
    all_end(own)
    assert launcher.returncode == (130 if how != signal.SIGKILL else -9)
    for pid in filter(alive, ranks):
        os.kill(pid, signal.SIGKILL)
    launcher.stdout.close()


def test_ranks_find_each_other_by_what_they_were_told(program, capfd, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    text = """
import jt_edu as jt
jt.distributed.init_process_group(timeout=120)
x = jt.array([1.0])
jt.distributed.all_reduce(x)
print("sum", x.item())
jt.distributed.destroy_process_group()
"""

    assert launch(["--nproc_per_node=2", "--use_env", "--master_port=0", program(text)]) == 0

    assert sorted(capfd.readouterr().out.splitlines()) == ["[rank 0] sum 2.0", "[rank 1] sum 2.0"]


@pytest.mark.parametrize("arguments", [
    [], ["--nproc_per_node=0", "x.py"], ["--nproc_per_node=two", "x.py"], ["--nnodes=2", "--node_rank=2", "x.py"],
    ["--master_port=0", "--nnodes=2", "x.py"], ["--what", "x.py"],
])  # fmt: skip
def test_arguments_that_make_no_sense_end_with_a_usage_line(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        parsed(arguments)

    assert caught.value.code == 2 and "usage" in capsys.readouterr().err
