"""What a GPU can do wrong: it is told in words, the notebook lives, and the CPU goes on."""

import functools
import os
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import cuda
from jt_edu.cuda import device, driver, on_card, repeated_plan
from jt_edu.cuda.repeated_plan import Piece
from tests.floors.cuda.fake_driver import FakeLibrary

NOT_READY = 600


@cuda.jit
def outside(out):
    out[out.size] = 1


@cuda.jit
def ones(out):
    out[cuda.grid(1)] = 1


def two_kernels(x):
    """Two kernels: a repeated plan of them is a graph."""
    return jt.nn.softmax(x, 1).sum(0) * 3


@pytest.fixture
def two(card, monkeypatch):
    """Two fake GPUs."""
    monkeypatch.delitem(jt.backends._loaded, "cuda", raising=False)
    yield card(FakeLibrary(("Fake A", "Fake B")))
    jt.backends._loaded.pop("cuda", None)


def there(*shape):
    return jt.array(np.ones(shape, "float32")).cuda().sync()


# ------------------------------------------------------------------------------------------ a kernel that never ends


WAITS = {
    "synchronize": lambda x, y: cuda.synchronize(),
    "a copy back": lambda x, y: x.copy_to_host(),
    "numbers of a graph": lambda x, y: y.numpy(),
    "a launch on arrays of NumPy": lambda x, y: ones[1, 2](np.zeros(2)),
}


@pytest.mark.parametrize("how", WAITS)
def test_ctrl_c_is_heard_while_a_kernel_never_ends_and_it_is_said_what_still_runs(gpu, monkeypatch, how):
    x, y, pauses = cuda.to_device(np.ones(3)), there(2, 3), []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 100:
            raise KeyboardInterrupt

    monkeypatch.setattr(driver, "sleep", sleep)
    gpu.fails |= dict.fromkeys(("cuStreamQuery", "cuEventQuery"), NOT_READY)
    with pytest.raises(KeyboardInterrupt, match=r"still runs, and what comes later waits.*start Python anew"):
        WAITS[how](x, y)
    gpu.fails.clear()

    assert pauses == sorted(pauses)
    assert 0 < pauses[0] < pauses[-1] <= driver.LONGEST
    assert x.copy_to_host().tolist() == [1] * 3
    assert (jt.array([1.0]) + 1).item() == 2


class Busy(FakeLibrary):
    """Its work takes so many looks."""

    looks = 0

    def cuStreamQuery(self, stream):  # noqa: N802 - the driver's own name
        self.looks -= 1
        return NOT_READY if self.looks > 0 else super().cuStreamQuery(stream)


def test_the_end_of_a_short_wait_is_seen_without_a_pause(card, monkeypatch):
    library = card(Busy())
    monkeypatch.setattr(driver, "sleep", lambda seconds: pytest.fail("a pause"))
    ones[1, 2](x := cuda.to_device(np.zeros(2)))
    library.looks = driver.LOOKS
    cuda.synchronize()

    assert library.looks == 0
    assert library.calls.count("cuStreamQuery") == driver.LOOKS
    assert x.copy_to_host().tolist() == [1, 1]


def test_where_memory_cannot_be_pinned_it_is_waited_for_before_the_driver_copies(card, monkeypatch):
    library = card(FakeLibrary(cuMemHostAlloc=2))
    x = cuda.to_device(np.zeros(2))
    x.copy_to_host()
    copies = [call for call in library.calls if call.startswith(("cuMemcpy", "cuStreamQ"))]

    assert copies == ["cuStreamQuery", "cuMemcpyHtoDAsync_v2", "cuStreamQuery", "cuMemcpyDtoHAsync_v2", "cuStreamQuery"]


def test_an_interrupt_while_memory_is_given_back_leaves_nothing_counted_twice(card, monkeypatch):
    library = card(FakeLibrary(room=10_000))
    cuda.device_array(8_000, "uint8")
    library.fails["cuStreamQuery"] = NOT_READY
    monkeypatch.setattr(driver, "sleep", lambda seconds: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        cuda.device_array(6_000, "uint8")
    library.fails.clear()
    cuda.synchronize()

    assert cuda.memory_stats()["kept"] == library.taken == 0
    assert cuda.device_array(9_000, "uint8").pointer


# ----------------------------------------------------------------------------------------------------- a GPU is lost


def paged(graph):
    """A step that has run often enough to be launched as a graph."""
    step, x = jt.compile(graph), there(5, 7)
    for _ in range(5):
        step(x)
    return step, x


USES = {
    "arithmetic": lambda x, a, step: (x * 5).numpy(),
    "with a new array": lambda x, a, step: (x * jt.array([2.0]).cuda()).sync(),
    "its numbers": lambda x, a, step: x.numpy(),
    "a copy for the CPU": lambda x, a, step: x.cpu().sync(),
    "its text": lambda x, a, step: repr(x),
    "a number": lambda x, a, step: x.sum().item(),
    "a compiled step": lambda x, a, step: step(x).numpy(),
    "a step that is new": lambda x, a, step: jt.compile(lambda y: y + 1)(x).numpy(),
    "a gradient": lambda x, a, step: jt.grad((x * x).sum(), [x])[0].numpy(),
    "a new array of the GPU": lambda x, a, step: jt.array([1.0]).cuda().sync(),
    "a launch": lambda x, a, step: ones[1, 2](a),
    "a launch with an array of the interpreter": lambda x, a, step: through[1, 1](a, cuda.to_device(np.ones(3))),
    "a launch with one of NumPy": lambda x, a, step: through[1, 1](a, np.ones(3)),
    "the interpreter": lambda x, a, step: cuda.simulate(ones, 1, 2, a),
    "a copy back": lambda x, a, step: a.copy_to_host(),
    "a copy there": lambda x, a, step: a.copy_to_device(3),
    "a copy on it": lambda x, a, step: a.copy_to_device(a.reshape(-1)),
    "a wait": lambda x, a, step: cuda.synchronize(),
}
LOST = r"touches its own arrays only, and ends; found error 719 .*the GPU is back when Python starts anew"


@cuda.jit
def through(x, y):
    x[0] = y[0]


@pytest.mark.parametrize("how", USES)
def test_each_use_of_an_array_of_a_lost_gpu_says_so_and_the_cpu_goes_on(gpu, how):
    step, x = paged(two_kernels)
    a = cuda.to_device(np.zeros(3))
    outside[1, 1](a)
    with pytest.raises(jt.KernelError, match="error 719 while waiting for kernels"):
        cuda.synchronize()
    for _ in range(2):
        with pytest.raises(jt.KernelError, match=LOST):
            USES[how](x, a, step)
    with pytest.raises(jt.KernelError, match=LOST), jt.flag_scope(use_cuda=1):
        (jt.ones(3) + 2).numpy()
    out = np.zeros(2)
    ones[1, 2](out)
    run = jt.compile(two_kernels)

    assert (cuda.is_available(), cuda.memory_stats(), out.tolist()) == (False, {}, [1, 1])
    assert (jt.ones(3) * 5).numpy().tolist() == [5] * 3
    assert all(run(jt.ones((5, 7))).numpy().shape == (7,) for _ in range(5))


# ------------------------------------------------------------------------------------------- drivers that do not fit


@pytest.mark.parametrize(("version", "needed", "fits"), [(12_080, 13, False), (13_000, 13, True), (12_080, 0, True)])
def test_a_driver_that_is_older_than_the_compiler_is_none_for_kernels(card, monkeypatch, version, needed, fits):
    library = card()
    library.version = version
    monkeypatch.setattr(device, "_toolkit", lambda: needed)
    out = np.zeros(2)
    ones[1, 2](out)

    assert (out.tolist(), cuda.is_available(), len(library.launches), cuda.device_count()) == ([1, 1], fits, fits, 1)
    if not fits:
        with pytest.raises(jt.BackendError, match=r"CUDA 13.0 or later, .* found a driver for CUDA 12.8.* Try: a new"):
            cuda.set_device(0)
        with pytest.raises(jt.BackendError, match=r"computes on a GPU; found a driver for CUDA 12.8.* Try: a newer"):
            jt.backends.get("cuda")


def test_a_gpu_that_is_older_than_the_compiler_knows_is_none_for_kernels(card, monkeypatch):
    library = card(FakeLibrary(("New", "Old")))
    monkeypatch.setattr(driver.Driver, "capability", lambda self, number: ((9, 0), (6, 1))[number])
    ones[1, 2](np.zeros(2))

    assert (library.launches, cuda.device_count()) == ([], 2)
    with pytest.raises(jt.BackendError, match=r"7.5 or a later one; found Old, which has 6.1.*without number 1"):
        cuda.set_device(0)


def test_a_version_that_cannot_be_asked_for_is_no_error_of_a_launch(card):
    library = card(FakeLibrary(cuDriverGetVersion=999))
    out = np.zeros(2)
    ones[1, 2](out)

    assert (out.tolist(), library.launches) == ([1, 1], [])
    with pytest.raises(jt.BackendError, match="error 999 while asking for its version"):
        cuda.set_device(0)


def test_the_toolkit_is_that_of_the_package_which_links():
    assert device._toolkit() in (0, 12, 13)


# ------------------------------------------------------------------------------------------------------- no memory


@pytest.mark.parametrize("recorded", [False, True], ids=["for a launch", "while a plan is written down"])
def test_kernels_are_loaded_where_there_was_no_room_before_kept_memory_went_back(two, recorded):
    step = jt.compile(lambda x: two_kernels(x) + 2.5)
    for number in (0, 1) if recorded else (0,):  # the plan of the first GPU is written down for the second
        cuda.set_device(number)
        x = there(5, 7)
        cuda.device_array(10_000, "uint8")
        memory, asked = device.here().memory, []

        def narrow(*given, memory=memory, asked=asked):
            asked.append(memory.kept)
            return 2 if memory.kept else FakeLibrary.cuModuleLoadData(two, *given)

        two.cuModuleLoadData = narrow
        found = [step(x).numpy() for _ in range(3)]

        assert asked[0] > 0
        np.testing.assert_allclose(found, [(two_kernels(jt.ones((5, 7))) + 2.5).numpy()] * 3, rtol=1e-5)


def test_numbers_whose_change_was_interrupted_are_put_in_again(gpu, monkeypatch):
    x, by = there(5, 7), jt.flag_scope(cuda_graphs=False)(lambda k: (two_kernels(x) * k).numpy())
    wanted = [by(2.0) for _ in range(5)][-1]

    @contextmanager
    def interrupted(**_):
        yield
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(repeated_plan, "np", SimpleNamespace(**{**vars(np), "errstate": interrupted}))
        with pytest.raises(KeyboardInterrupt):
            by(3.0)

    np.testing.assert_array_equal(by(2.0), wanted)


def test_a_graph_is_made_where_there_was_no_room_before_kept_memory_went_back(gpu):
    step, x = jt.compile(two_kernels), there(5, 7)
    cuda.device_array(10_000, "uint8")
    ready, asked = gpu.cuGraphInstantiateWithFlags, []

    def narrow(*given):
        asked.append(cuda.memory_stats()["kept"])
        return 2 if asked[-1] else ready(*given)

    gpu.cuGraphInstantiateWithFlags = narrow
    found = [step(x).numpy() for _ in range(3)]

    assert asked[1] == 0 < asked[0]
    np.testing.assert_allclose(found, [two_kernels(jt.ones((5, 7))).numpy()] * 3, rtol=1e-5)


@pytest.mark.parametrize("compiled", [True, False], ids=["jt.compile", "as written"])
def test_memory_of_a_run_is_nobody_elses_before_all_of_it_is_in_line(gpu, monkeypatch, compiled):
    put, others = Piece._put_numbers, []

    def between(self, arrays):
        """What another thread may do between the addresses and the launches."""
        self.let_go()
        others.extend(cuda.device_array(size, "uint8") for size in {self._room, *(t[2] for t in self._taken)})
        for other in others:
            other.copy_to_device(7)
        put(self, arrays)

    x = there(5, 7)
    step = jt.compile(two_kernels) if compiled else two_kernels
    for _ in range(4):
        step(x).sync()
    monkeypatch.setattr(Piece, "_put_numbers", between)
    found = step(x).numpy()

    np.testing.assert_allclose(found, two_kernels(jt.ones((5, 7))).numpy(), rtol=1e-5)
    assert others
    assert all((other.copy_to_host() == 7).all() for other in others)


# ------------------------------------------------------------------------------------------------------ which GPU


def test_an_array_of_another_gpu_is_not_copied_before_its_kernels_ended(two):
    x = cuda.to_device(np.ones(3))
    cuda.set_device(1)
    y = cuda.to_device(np.zeros(3))
    with pytest.raises(jt.ArgumentError, match=r"an array of <GPU 0> on <GPU 1>. Try: set_device\(0\)"):
        y.copy_to_device(x)

    assert y.copy_to_host().tolist() == [0] * 3


MOVES = {
    "x.to": lambda name: jt.ones(2).to(name).sync(),
    "jt.zeros": lambda name: jt.zeros(2, device=name).sync(),
    "module.to": lambda name: jt.nn.Linear(2, 2).to(name),
    "x.cuda": lambda name: jt.ones(2).cuda(int(name[-1]), non_blocking=True).sync(),
    "module.cuda": lambda name: jt.nn.Linear(2, 2).cuda(name, non_blocking=True),
    "memory_allocated": jt.cuda.memory_allocated,
}


@pytest.mark.parametrize("how", MOVES)
def test_the_number_of_another_gpu_is_refused_and_that_of_this_thread_is_not(two, how):
    MOVES[how]("cuda:0")
    with pytest.raises(jt.ArgumentError, match=r"found cuda:1 in a thread of cuda:0. Try: jt.cuda.set_device\(1\)"):
        MOVES[how]("cuda:1")
    with pytest.raises(jt.ArgumentError, match="a number from 0 to 1, as CUDA_VISIBLE_DEVICES shows them; found 7"):
        MOVES[how]("cuda:7")
    cuda.set_device(1)
    MOVES[how]("cuda:1")


@pytest.mark.parametrize("number", ["", "²", "٠", "-1", "0x0", "1" * 5000, "0:0", " 0"], ids=lambda n: ascii(n)[:9])
def test_what_is_no_number_of_a_device_is_refused(two, number):
    for name in ("cuda", "cpu"):
        with pytest.raises(jt.ArgumentError, match=f"a name and a number; found '{name}:.*Try: '{name}:0'"):
            jt.ones(2).to(f"{name}:{number}")


@pytest.mark.parametrize("visible", ["nonsense", "7", "GPU-0123", "0,,1 ; 2"])
def test_words_that_hide_all_gpus_are_shown(card, monkeypatch, visible):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    library = FakeLibrary()
    library.names = () if visible[0] == "0" else library.names
    cards = device.Cards(library)

    assert f"CUDA_VISIBLE_DEVICES is {visible!r}. Try: CUDA_VISIBLE_DEVICES" in str(cards.missing)


class Door:
    """A lock that tells when a second thread wants it."""

    def __init__(self):
        self.lock, self.wanted = threading.Lock(), threading.Event()

    def __enter__(self):
        if self.lock.locked():
            self.wanted.set()
        self.lock.acquire()

    def __exit__(self, *_):
        self.lock.release()


def test_threads_that_ask_first_get_the_same_gpus(monkeypatch):
    found, asked, cards, door = [], [], device.cards.__wrapped__, Door()  # what is done where nobody has asked before

    def slow():
        """While one thread starts the driver, another asks: it is at the door, or here where there is none."""
        asked.append(None)
        if len(asked) == 1:
            thread.start()
        else:
            door.wanted.set()
        assert door.wanted.wait(60)
        return device.Cards(None)

    thread = threading.Thread(target=lambda: found.append(cards()))
    monkeypatch.setattr(device, "_starting", door)
    monkeypatch.setattr(device, "_started", functools.cache(slow))
    found.append(cards())
    thread.join()

    assert found[0] is found[1]


# ------------------------------------------------------------------------------------------------------ forks, and room


FORKED = (
    lambda x: (x * 5).sync(),
    lambda x: (x + 5).sync(),
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_process_has_no_gpu_and_its_cpu_goes_on(gpu):
    x, seen = there(2, 3), os.pipe()
    child = os.fork()
    if not child:
        try:
            said, out = [], np.zeros(2)
            for use in (x.numpy, cuda.current_device, *FORKED):
                try:
                    use(*[x][: use in FORKED])
                except jt.BackendError as error:
                    said.append((str(error).count("found a process forked from it"), str(error).count("\n  at ")))
            ones[1, 2](out)
            told = f"{said} {cuda.is_available()} {out.tolist()} {(jt.ones(2) * 5).numpy().tolist()}"
        except BaseException as error:  # noqa: BLE001 - nothing may run on in the child
            told = repr(error)
        os.write(seen[1], told.encode())
        os._exit(0)
    os.waitpid(child, 0)

    assert os.read(seen[0], 4096).decode() == "[(1, 0), (1, 0), (1, 1), (1, 1)] False [1.0, 1.0] [5.0, 5.0]"
    assert x.numpy().tolist() == [[1] * 3] * 2


@cuda.jit
def of_the_launch(x):
    a, b = cuda.shared.array(0, "float32"), cuda.shared.array(0, "int32")
    fixed = cuda.shared.array(1000, "float32")
    fixed[0] = 1
    a[1] = b[0] = x[0]
    x[0] = 2


def test_the_interpreter_gives_a_launch_what_the_largest_gpu_has(card):
    of_the_launch[1, 1, 0, 60_000](x := np.ones(2))
    of_the_launch[1, 1, 0, 227 * 1024 - 4000](x)
    with pytest.raises(
        jt.KernelError, match=r"a GPU has 232,448 \(H100; many others: 101,376\).*found 232,452 in line"
    ):
        of_the_launch[1, 1, 0, 227 * 1024 - 3996](x)

    assert x.tolist() == [2, 1]


def test_a_launch_says_what_its_own_gpu_has(card, monkeypatch):
    library = card()
    monkeypatch.setattr(driver.Driver, "shared", lambda self, number: 99 * 1024)
    monkeypatch.setattr(on_card.compiler, "compiled", lambda *given: library.compile(*given, shared=4000))
    kernel = cuda.jit(of_the_launch.function)
    kernel[1, 1, 0, 97_376](np.ones(2))
    with pytest.raises(jt.KernelError, match=r"this GPU has 101,376 bytes.*found 101,377 in a launch of of_the_launch"):
        kernel[1, 1, 0, 97_377](np.ones(2))


# ---------------------------------------------------------------------------------------------------------- flags


@pytest.mark.parametrize(
    "wanted", [{"backend": "python", "use_cuda": 0}, {"use_cuda": 0, "backend": "python"}], ids=str
)
def test_a_scope_with_a_backend_of_its_own_leaves_the_flags_as_they_were(gpu, wanted):
    jt.flags.use_cuda = 1
    with jt.flag_scope(**wanted):
        assert (jt.flags.backend, jt.flags.use_cuda) == ("python", 0)
    assert (jt.flags.backend, jt.flags.use_cuda) == ("cuda", 1)
    jt.flags.use_cuda = 0

    assert jt.flags.backend == "numba"


def test_a_backend_that_was_named_stays_where_use_cuda_was_never_set(gpu):
    with jt.flag_scope(backend="cuda"):
        with jt.flag_scope(use_cuda=0):
            assert jt.flags.backend == "cuda"
        jt.flags.use_cuda = 0
        assert jt.flags.backend == "cuda"
