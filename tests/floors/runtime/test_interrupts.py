"""Ctrl-C while a kernel is compiled, or a step: it reaches the learner, and what was computed stays right."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.capture import recorder

ROOT = Path(__file__).resolve().parents[3]
PRESSED = """
import signal, threading, time
import numpy as np
import jt_edu as jt

def press(seconds):
    time.sleep(seconds)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

jt.flags.backend = "numba"
x = jt.array(np.ones(3))
(x + 1).sync()  # numba is there
reached = 0
for k in range(MOMENTS):
    y = x
    for _ in range(k + 1):  # another kernel each time
        y = y.exp().sin()
    hand = threading.Thread(target=press, args=(0.008 * k,))
    try:
        hand.start()
        y.sync()
        while True:  # until the hand presses, which may take long on a busy machine
            time.sleep(0.05)
    except KeyboardInterrupt:
        reached += 1
    hand.join()
    right = x.numpy()
    for _ in range(k + 1):
        right = np.sin(np.exp(right))
    np.testing.assert_allclose(y.numpy(), right, rtol=1e-6)
print(reached)
"""


def test_an_interrupt_at_any_moment_of_a_cold_compile_reaches_the_learner(tmp_path):
    moments = 12
    done = subprocess.run(
        [sys.executable, "-c", PRESSED.replace("MOMENTS", str(moments))], cwd=ROOT, capture_output=True, text=True,
        timeout=280, check=False, env=os.environ | {"JT_EDU_CACHE": str(tmp_path)},
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (0, f"{moments}\n", "")


class Press:
    """Presses Ctrl-C once, at the n-th moment that Python spends in one file."""

    def __init__(self, module, moment):
        self.file, self.left, self.pressed = module.__file__, moment, False

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename != self.file:
            return self if event == "call" else None
        self.left -= 1
        if self.left == 0:
            self.pressed = True
            sys.settrace(None)
            raise KeyboardInterrupt
        return self


@pytest.mark.parametrize("fails", [False, True])
def test_an_interrupt_at_any_moment_of_a_capture_leaves_nothing_captured(fails):
    with jt.flag_scope(backend="python"):
        for moment in range(1, 400):
            net = nn.Linear(2, 1)
            rule = optim.SGD(net.parameters(), lr=0.1)

            @jt.compile
            def step(x, net=net, rule=rule):
                rule.step((net(x) ** 2).sum())
                if fails:
                    raise ValueError
                return net.weight * 1

            press, x, before = Press(recorder, moment), jt.ones(3, 2), net.weight.numpy()
            sys.settrace(press)
            try:
                step(x)
            except (KeyboardInterrupt, ValueError) as error:
                assert isinstance(error, KeyboardInterrupt) == press.pressed  # noqa: PT017
            finally:
                sys.settrace(None)

            assert (x * 2).sum().item() == 12
            after = net.weight.numpy()
            assert not fails or after.tolist() == before.tolist()
            if not press.pressed:
                break
    assert 10 < moment < 399
