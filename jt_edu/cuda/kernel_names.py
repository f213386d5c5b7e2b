"""Kernel names: which words of CUDA may a kernel use?

    i = cuda.grid(1)                        cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    tile = cuda.shared.array(32, "float32")
    cuda.syncthreads()

They are those of numba.cuda, which has none for tensor cores, and mean something inside a kernel only: there a thread
stands in their place (thread.py). Here they are names, so that one can import them; whoever uses one outside of a
kernel is told so.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.did_you_mean import nearest
from jt_edu.base.errors import KernelError

PLACES = ("threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize", "grid", "gridsize")
BARRIERS = ("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or")  # of a block
WARP = (
    "syncwarp", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "ballot_sync", "any_sync", "all_sync",
)  # fmt: skip
TENSOR = ("mma_float16", "mma_bfloat16", "mma_tf32")  # matrices that a warp multiplies: tensor_core.py
FENCES = ("threadfence", "threadfence_block")
SPACES = ("shared", "local", "atomic")
NUMBERS = ("popc", "clz", "ffs", "brev", "fma", "tf32")
SHARED = 48 * 1024  # bytes of a block: those that the text of a kernel names, and with a launch that asks for none
MOST_SHARED = 227 * 1024  # with those that a launch asks for, on the GPUs that have most (H100); many have 99 * 1024
WAITING = frozenset(BARRIERS + WARP + TENSOR)  # where a thread waits for others
NAMES = (*PLACES, *BARRIERS, *WARP, *TENSOR, *FENCES, *SPACES, *NUMBERS)


def like(name: str) -> str:
    """What to write in place of a word that no kernel has.

    Example:
        >>> like("thredIdx")
        'cuda.threadIdx'
    """
    return " or ".join(nearest(name, {"cuda": NAMES, "cuda.shared": ["array"]})) or ", ".join(NAMES)


class KernelName:
    """A name that a thread has; or a part of one, such as `threadIdx.x`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, part: str) -> KernelName:
        if part.startswith("__"):
            raise AttributeError(part)
        return KernelName(f"{self.name}.{part}")

    def __repr__(self) -> str:
        return f"cuda.{self.name}, which a thread has"

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise KernelError(
            f"cuda.{self.name} is known to a thread, inside of a kernel only", "a use outside of one",
            "a function under @cuda.jit, launched as kernel[blocks, threads](...)",
        )  # fmt: skip

    __call__ = __index__ = __int__ = __float__ = __bool__ = __add__ = __radd__ = __mul__ = __rmul__ = _refused
    __lt__ = __le__ = __gt__ = __ge__ = __sub__ = __mod__ = __floordiv__ = _refused


def has_room(named: int, asked: int, where: str, most: int = 0) -> None:
    """Look whether a block has so much shared memory.

    Args:
        named: bytes whose number stands in the text of the kernel.
        asked: bytes that the launch adds.
        where: they are named or asked for.
        most: what the GPU has for both; 0 for the interpreter, which has what any GPU has.

    Raises:
        KernelError: it has not.
    """
    if named > SHARED:
        way = "smaller tiles, or cuda.shared.array(0, ...) and kernel[blocks, threads, 0, bytes]"
        raise KernelError(f"a text names {SHARED:,} bytes of shared memory at most", f"{named:,}{where}", way)
    if named + asked > (most or MOST_SHARED):
        whose = f"this GPU has {most:,}" if most else f"a GPU has {MOST_SHARED:,} (H100; many others: 101,376)"
        found = f"{named + asked:,}{where}"
        raise KernelError(f"a block of {whose} bytes of shared memory at most", found, "smaller tiles")


HERE: dict[str, KernelName] = {name: KernelName(name) for name in NAMES}
