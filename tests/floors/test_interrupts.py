"""Ctrl-C while a kernel is compiled: it reaches the learner, and what was computed stays right."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
