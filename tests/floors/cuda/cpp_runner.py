"""C++ of kernels, compiled by g++ against `gpu_on_cpu.h`, and launched from Python: do they compute the same?"""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

from jt_edu.backends import PythonBackend
from jt_edu.cuda.cpp import generated
from jt_edu.cuda.device_array import HostArray
from jt_edu.cuda.emit_cuda import cuda_loops
from jt_edu.cuda.launch import Kernel

HEADER = Path(__file__).with_name("gpu_on_cpu.h")
GXX = shutil.which("g++")
HEAD = re.compile(r"__global__ void (\w+)\(([^)]*)\)")
NUMBERS = {"bool": ctypes.c_bool, "int": ctypes.c_int, "long long": ctypes.c_longlong, "float": ctypes.c_float,
           "double": ctypes.c_double}  # fmt: skip
ASSEMBLY = re.compile(r"__device__ \w+ (?:mma_\w+|tf32)\([^{]*\{.*?\n\}\n", re.DOTALL)  # the header has them
WAITS = ("mma_", "__sync", "__shfl", "__ballot", "__any", "__all", "syncwarp")


class Compiled:
    """Stands in the place of a kernel: launches what g++ made of its text."""

    launches = 0  # of all of them

    def __init__(self, entry, names, parameters):
        self.entry, self.names, self.parameters = entry, names, parameters

    def __getitem__(self, how):
        blocks, threads = (tuple(size) if isinstance(size, tuple) else (size,) for size in how[:2])
        sizes = [(ctypes.c_uint * 3)(*size, *(1,) * (3 - len(size))) for size in (blocks, threads)]

        def launch(*arguments):
            given = {n: a.values if isinstance(a, HostArray) else a for n, a in zip(self.names, arguments, strict=True)}
            Compiled.launches += 1
            self.entry(*sizes, *(self._passed(kind, name, given) for kind, name in self.parameters))

        return launch

    @staticmethod
    def _passed(kind, name, given):
        if kind.endswith("*"):
            return ctypes.c_void_p(given[name].ctypes.data)
        if name in given:
            return NUMBERS[kind](given[name].item() if isinstance(given[name], np.generic) else given[name])
        array, axis = name.rsplit("_n", 1)
        return ctypes.c_longlong(given[array].shape[int(axis)])


def compiled(texts, folder, wave=32):
    """All texts in one library. What comes back makes a `Compiled` of (name of a text, kernel)."""
    parts, heads = [f'#define WAVE {wave}\n#include "{HEADER}"\n'], {}
    for key, written in texts.items():
        text = written.replace("#include <hip/hip_runtime.h>\n", "")
        text = ASSEMBLY.sub("", text)
        text = re.sub(r"extern (__shared__ [\w ]+)\[\]", r"\1[4096]", text)
        parts.append(f"namespace {key} {{\n{text}")
        for name, found in HEAD.findall(text):
            parameters = [p.strip().rpartition(" ")[::2] for p in found.split(",")]
            heads[key, name] = parameters
            alone = str(not any(word in text for word in WAITS)).lower()
            entry = f'extern "C" void {key}_{name}(const unsigned* blocks, const unsigned* threads, {found})'
            call = f"{name}({', '.join(n for _, n in parameters)})"
            parts.append(f"{entry} {{ launched(blocks, threads, {alone}, [=] {{ {call}; }}); }}\n")
        parts.append("}\n")
    source, library = folder / f"kernels{wave}.cpp", folder / f"kernels{wave}.so"
    source.write_text("\n".join(parts), encoding="utf-8")
    flags = ["-std=c++20", "-O1", "-shared", "-fPIC", "-pthread"]
    flags += ["-Wall", "-Werror", "-Wno-unused-function", "-Wno-unused-variable"]
    done = subprocess.run([GXX, *flags, "-o", library, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(library))
    return lambda key, kernel: Compiled(
        getattr(loaded, f"{key}_{kernel.__name__}"),
        kernel.function.__code__.co_varnames[: kernel.function.__code__.co_argcount],
        heads[key, kernel.__name__],
    )


class Collected(PythonBackend):
    """The interpreter's backend, which keeps the source of each kernel that it runs."""

    name, codegen = "collected", ((), cuda_loops)

    def __init__(self):
        super().__init__()
        self.sources = {}

    def compile(self, source):
        self.sources["k" + source.key] = source
        return super().compile(source)

    def texts(self, language):
        """Their C++."""
        return {key: generated(source, language) for key, source in self.sources.items()}


class OfCpp(PythonBackend):
    """What launches the kernels is Python, and the kernels are those of a library."""

    name, codegen = "of_cpp", ((), cuda_loops)

    def __init__(self, made):
        super().__init__()
        self.made = made

    def compile(self, source):
        program = super().compile(source)
        space = _space(program.call)
        for name, value in list(space.items()):
            if isinstance(value, Kernel) and not value.device:
                space[name] = self.made("k" + source.key, value)
        return program


def _space(call):
    """The names of the text behind a program."""
    return next(c.cell_contents.__globals__ for c in call.__closure__ if callable(c.cell_contents))
