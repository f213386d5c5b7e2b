"""Datasets that worker processes can import."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np

import jt_edu as jt
from jt_edu import data


class Squares(data.Dataset):
    """(k, k * k); written as in Jittor: no super().__init__()."""

    def __init__(self, n=10, **attributes):
        self.set_attrs(total_len=n, **attributes)

    def __getitem__(self, k):
        return float(k), k * k


class Noisy(Squares):
    """Each example draws from all three generators."""

    def __getitem__(self, k):
        return k, random.random(), np.random.rand(), jt.rand(1).numpy()  # noqa: NPY002


class Slow(Squares):
    """Takes its time, and says which process it is."""

    def __init__(self, n=10, seconds=0.0, **attributes):
        super().__init__(n, **attributes)
        self.seconds = seconds

    def __getitem__(self, k):
        time.sleep(self.seconds)
        return k, os.getpid()


class Counted(Squares):
    """Leaves a file behind for each example that was made."""

    def __init__(self, folder, n=40, **attributes):
        super().__init__(n, **attributes)
        self.folder = folder

    def __getitem__(self, k):
        (self.folder / str(k)).touch()
        return k


class Nested(Squares):
    """Starts workers in a worker."""

    def __getitem__(self, k):
        return next(iter(Squares(num_workers=1)))


class Big(Squares):
    """A megabyte an example: more than a pipe holds."""

    def __getitem__(self, k):
        return np.full(1 << 18, k, np.float32)


class Odd(Squares):
    """What goes wrong at example 5 is told by `how`; the file `sign` is there when it begins."""

    def __init__(self, how, n=10, sign=None, **attributes):
        super().__init__(n, **attributes)
        self.how, self.sign = how, sign

    def __getitem__(self, k):
        if k == 5:
            getattr(self, self.how)()
        return k

    def begin(self):
        if self.sign is not None:
            self.sign.touch()

    def divide(self):
        return 1 // 0

    def own_error(self):
        raise NeedsTwo("left", "right")

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def die_with_a_program(self):
        child = subprocess.Popen(["sleep", "600"], close_fds=False)  # as `os.system` starts it
        self.sign.write_text(str(child.pid))
        self.die()

    def die_with_a_copy(self):
        child = os.fork()
        if child == 0:
            time.sleep(600)
            os._exit(0)
        self.sign.write_text(str(child))
        self.die()

    def leave(self):
        os._exit(3)

    def exit(self):
        sys.exit(3)

    def exit_beside_a_thread(self):
        threading.Thread(target=time.sleep, args=(600,)).start()
        sys.exit(3)

    def go_deaf(self):
        os.closerange(3, 100)  # as programs do that become daemons
        time.sleep(600)

    def hang(self):
        self.begin()
        while True:
            time.sleep(0.01)

    def ignore(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.hang()


class NeedsTwo(Exception):  # noqa: N818
    """Cannot be pickled: its arguments are not what it was made of."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class Homesick(Squares):
    """Can be packed, but not unpacked anywhere else."""

    def __init__(self, n=10, **attributes):
        super().__init__(n, **attributes)
        self.home = os.getpid()

    def __setstate__(self, state):
        if os.getpid() != state["home"]:
            raise OSError("the file is not here")


class Words(data.IterableDataset):
    """The numbers from 0, shared among the workers: each takes every so manieth."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        me = data.get_worker_info()
        return iter(range(self.n) if me is None else range(me.id, self.n, me.num_workers))


class Every(Words):
    """Nine numbers in two parts of different length."""

    def __init__(self):
        super().__init__(0)

    def __iter__(self):
        me = data.get_worker_info()
        return iter([0, 2, 4, 6, 8] if me.id == 0 else [1, 3, 5])


class Uneven(data.IterableDataset):
    """Worker w has 3 * w + 1 numbers."""

    def __iter__(self):
        me = data.get_worker_info()
        for k in range(3 * me.id + 1):
            yield 100 * me.id + k, me.seed % 1000, np.random.randint(1 << 30)  # noqa: NPY002


class Sized(Words):
    """A stream that knows its length."""

    def __len__(self):
        return self.n


def add_up(examples):
    return np.array([sum(examples), len(examples)])


def greet(number):
    data.get_worker_info().dataset.n = 1000 * (number + 1)


class Greeted(Squares):
    """Shows what `greet` left behind, and the flags of its process."""

    def __getitem__(self, k):
        return self.n, jt.flags.backend == "python"
