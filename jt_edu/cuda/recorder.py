"""Recorder: what would the steps of a plan launch, if they ran on a GPU?

A Recorder stands in the place of a GPU (device.standing_in): who asks it for memory is given a number, and what is
launched is written down. As long as shapes stay, a run launches the same kernels each time; only addresses change, and
numbers of the graph. What was written down says where in the arguments those are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jt_edu.cuda.arguments import ADDRESS, begins
from jt_edu.cuda.device import Device
from jt_edu.cuda.device_memory import DeviceMemory
from jt_edu.runtime.plan import Step


@dataclass
class Noted:
    """A launch that was written down, of which step, and where in its row of arguments each of them begins."""

    step: Step
    kernel: Any
    sizes: Sequence[int]
    shared: int
    row: bytes
    doing: Callable[[], str]
    begins: list[int]

    def arrays(self) -> Iterator[tuple[int, int]]:
        """For each array: the byte where its address stands, and the number of the memory that it was given."""
        for kind, begin in zip(self.kernel.kinds, self.begins, strict=True):
            if "[" in kind:
                at = begin + ADDRESS
                yield at, int.from_bytes(self.row[at : at + 8], "little")


class Recorder(Device):
    """In the place of a GPU, for whose kernels it passes.

    Args:
        gpu: for which kernels are loaded.
    """

    def __init__(self, gpu: Device) -> None:
        super().__init__(gpu.number, gpu.driver, gpu.context, gpu.stream, gpu.capability)
        self.gpu, self.memory = gpu, DeviceMemory(self, 0)
        self.blocks: list[int] = []  # bytes; the address that is given is the place in this list, counted from 1
        self.launches: list[Noted] = []
        self.step: Step

    def __eq__(self, other: object) -> bool:
        return other is self.gpu or other is self

    def __hash__(self) -> int:
        return hash(self.gpu)

    def allocate(self, size: int, stream: int) -> int:
        """What the memory asks a driver for."""
        del stream
        self.blocks.append(size)
        return len(self.blocks)

    def load(self, cubin: bytes, entry: str) -> int:
        """On the GPU itself."""
        return self.gpu.load(cubin, entry)

    def start(self, kernel: Any, sizes: Sequence[int], shared: int, row: bytes, doing: Callable[[], str]) -> None:
        """Write it down."""
        self.launches.append(Noted(self.step, kernel, sizes, shared, row, doing, begins(kernel.kinds)))
