"""Assembly: what did the compiler make of a kernel, and where does one instruction do the work of many?

    assembly(source).llvm   LLVM IR after optimization, the kernel's function only
    assembly(source).asm    machine instructions of this CPU; `vectors` says which work on how many numbers at once
    assembly(source).ptx    the same for an NVIDIA GPU, where there is one; else `no_ptx` says why not
    assembly(source).cpp    for a kernel of a GPU, in place of the first two; `needs`: registers, occupancy

The kernel is compiled once more, just as the numba backend compiles it, because machine code that was read from disk
has lost its text. `width` counts bits: 512 (zmm), 256 (ymm), 128 (xmm; v0 to v31 of ARM).
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def, attr-defined"
# numba is typed in part

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numba
from numba import cuda

from jt_edu.backends import define, numba_cpu, numba_pipeline
from jt_edu.base.errors import KernelError
from jt_edu.codegen.emit_python import Source
from jt_edu.lens.gpu_assembly import listings

X86 = re.compile(r"%([xyz])mm(\d+)")
ARM = re.compile(r"\bv\d+\.(\d+)([bhsd])\b|\b[qz]\d+\b")
BITS = {"x": 128, "y": 256, "z": 512, "b": 8, "h": 16, "s": 32, "d": 64}
VARIANT = re.compile(r"(231|213|132)")  # of a multiplication with addition: which operand is which
MOVES = re.compile(
    r".*(mov|broadcast|insert|extr|perm|shuf|unpck|zero|gather|scatter|blend|mask)|(ld|st|dup|ins|zip|uzp)"
)
DIRECTIVE = re.compile(r"\s*\.(?!L)\w+")


@dataclass(frozen=True)
class Vector:
    """A line of assembly that works on several numbers at once."""

    line: int
    width: int  # bits
    arithmetic: bool  # False: it moves or arranges them


@dataclass(frozen=True)
class Assembly:
    """What the compiler made of one kernel."""

    cpu: str
    llvm: str
    asm: str
    vectors: tuple[Vector, ...] = field(repr=False)
    ptx: str = ""
    no_ptx: str = ""
    cpp: str = ""
    needs: list[dict[str, Any]] = field(default_factory=list)  # a row for each kernel and GPU, see gpu_assembly

    @property
    def widest(self) -> int:
        """Bits of the widest arithmetic; 0 if it takes numbers one by one."""
        return max((v.width for v in self.vectors if v.arithmetic), default=0)

    @property
    def summary(self) -> str:
        """One sentence."""
        counts = Counter(v.width for v in self.vectors if v.arithmetic)
        rows = self.asm.count("\n")
        if not counts:
            return f"{rows} lines for {self.cpu}; no instruction computes with more than one number."
        words = ", ".join(f"{counts[w]} of {w} bits" for w in sorted(counts, reverse=True))
        return f"{rows} lines for {self.cpu}; instructions that compute with several numbers: {words}."

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for a page."""
        return {**asdict(self), "summary": self.summary, "widest": self.widest}


@lru_cache(maxsize=64)
def assembly(source: Source) -> Assembly:
    """LLVM IR, assembly and PTX of a kernel.

    Raises:
        KernelError: it does not compile, or numba is switched off.
    """
    if "@cuda.jit" in source.text:
        return Assembly("a GPU", "", "", (), **listings(source))
    made = _compiled(source)
    signature = made.signatures[0]
    name = made.overloads[signature].fndesc.llvm_func_name
    asm = trimmed_asm(made.inspect_asm(signature), name)
    ptx, why = _ptx(source)
    return Assembly(
        str(numba_pipeline.cpu()[1]), trimmed_llvm(made.inspect_llvm(signature), name), asm, vectors(asm), ptx, why
    )


def _compiled(source: Source) -> Any:
    function = define(source, f"<jt_edu k_{source.key}>")
    function.__qualname__ = f"kernel_{source.key}"
    try:
        made = numba_pipeline.compiled(function, numba_cpu.signature(source), source.apart)
    except Exception as error:
        raise KernelError(f"numba compiles kernel {source.key[:10]}", f"{type(error).__name__}: {error}") from error
    if made is function:
        raise KernelError("machine code comes from numba", "NUMBA_DISABLE_JIT", "unset it, and start again")
    return made


def trimmed_llvm(text: str, name: str) -> str:
    """The definition of one function, under a name that can be read."""
    rows = text.splitlines()
    begin = next((k for k, r in enumerate(rows) if r.startswith("define") and name in r), 0)
    end = next((k for k in range(begin, len(rows)) if rows[k] == "}"), len(rows) - 1)
    return "\n".join(rows[begin : end + 1]).replace(name, "kernel") + "\n"


def trimmed_asm(text: str, name: str) -> str:
    """The instructions and labels of one function, without what is meant for the assembler."""
    rows = text.splitlines()
    begin = next((k for k, r in enumerate(rows) if r.lstrip('_"').startswith(name.lstrip("_")) and ":" in r), 0)
    ends = (k for k in range(begin + 1, len(rows)) if re.match(r"\.Lfunc_end|\s*\.size|_?_ZN7cpython", rows[k]))
    body = rows[begin + 1 : next(ends, len(rows))]
    kept = [r.expandtabs(8).rstrip() for r in body if r.strip() and not DIRECTIVE.match(r)]
    return "\n".join(["kernel:", *(r if r.endswith(":") else "    " + r.strip() for r in kept)]) + "\n"


def vectors(asm: str) -> tuple[Vector, ...]:
    """The lines that work on several numbers at once.

    Example:
        >>> vectors("vaddps %zmm0, %zmm1, %zmm2"), vectors("vaddss %xmm0, %xmm1, %xmm2")
        ((Vector(line=1, width=512, arithmetic=True),), ())
    """
    found = (_vector(number, row.strip()) for number, row in enumerate(asm.splitlines(), 1))
    return tuple(v for v in found if v is not None)


def _vector(number: int, row: str) -> Vector | None:
    word, _, operands = row.replace("\t", " ").partition(" ")
    if word.endswith(":"):
        return None
    width = _x86(VARIANT.sub("", word).lstrip("v"), X86.findall(operands)) or _arm(operands)
    same = "xor" in word and len(set(X86.findall(operands))) == 1  # how a register is set to 0
    return Vector(number, width, not same and not MOVES.match(word)) if width else None


def _x86(stem: str, registers: list[tuple[str, str]]) -> int:
    """Bits of the registers; 0 where only the lowest number in them counts."""
    widest = max((letter for letter, _ in registers), default="")
    packed = stem.startswith("p") or stem.endswith(("ps", "pd", "ph")) or "movdq" in stem
    return BITS[widest] if widest > "x" or (widest and packed) else 0


def _arm(operands: str) -> int:
    """Bits of the lanes of NEON, such as `v0.4s`; a whole register is at least 128."""
    lanes = ARM.search(operands)
    if lanes is None:
        return 0
    return int(lanes[1]) * BITS[lanes[2]] if lanes[1] else 128


def _ptx(source: Source) -> tuple[str, str]:
    """(PTX, "") or ("", why there is none)."""
    try:
        if not cuda.is_available():
            return "", "numba finds no NVIDIA GPU on this machine, so there is no PTX to show."
        types = numba_cpu.signature(source).args
        text, _ = cuda.compile_ptx(define(source, "<ptx>"), numba.void(*types), device=True)
    except Exception as error:  # noqa: BLE001 - whatever is missing, the tab says so
        return "", f"There is a GPU, but this kernel has no PTX: {type(error).__name__}: {str(error).splitlines()[0]}"
    return str(text), ""
