"""Code cuda: what does a `cuda_src` of `jt.code` do, with or without a GPU?

    @cuda.jit
    def kernel(@ARGS_DEF):                      def kernel(in0, out):
        @PRECALC
        i = cuda.grid(1)
        if i < in0_shape0:                          if i < in0.shape[0]:
            @out(i) = @in0(i) * data["k"]               out[i] = in0[i] * data["k"]
    kernel[in0_shape0 // 32 + 1, 32](@ARGS)     kernel[in0.shape[0] // 32 + 1, 32](in0, out)

The text defines kernels, in the words of numba.cuda, and launches them. Where there is no GPU, the interpreter of
`jt_edu.cuda` runs them, so whatever is wrong with one is an error that names the line and the threads.
"""

from __future__ import annotations

import ast
import math
import re
import textwrap
import tokenize
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, JtError, KernelError
from jt_edu.base.source_text import remember
from jt_edu.ops.code_text import Array, jittor_words
from jt_edu.ops.py_function import numpy_code
from jt_edu.variable.var import as_var


@dataclass(frozen=True)
class Launches:
    """A text that defines kernels and launches them; equal texts are one operator."""

    text: str
    data: tuple[tuple[str, float], ...]

    def __call__(self, _: Any, given: dict[str, Any]) -> None:
        """Fill the outputs; see `numpy_code`."""
        arrays = {f"in{k}": x for k, x in enumerate(given["inputs"])}
        outs = given["outputs"]
        if "dout" in given:
            arrays |= {"pout": given["f_outputs"][0], "dout": given["dout"]}
        arrays |= {"out" if len(outs) == 1 else f"out{k}": x for k, x in enumerate(outs)}
        from jt_edu import cuda  # noqa: PLC0415 - for who writes kernels alone: it takes a while to load

        name = remember(self.text, f"<cuda_src {hash(self.text)}>")  # it is read again
        space = {"cuda": cuda, "np": np, "math": math, "data": dict(self.data), **arrays}
        try:
            exec(compile(self.text, name, "exec"), space)  # noqa: S102 - the learner's own text
        except (JtError, NotImplementedError):
            raise
        except Exception as error:
            line = [at.lineno or 1 for at in traceback.extract_tb(error.__traceback__) if at.filename == name][-1]
            asked = f"cuda_src stopped in line {line}: {self.text.splitlines()[line - 1].strip()}"
            raise KernelError(asked, f"{type(error).__name__}: {error}", "what stands there") from error


def cuda_code(
    shape: Any, dtype: Any, inputs: Sequence[Any], source: str, gradients: Any, header: str, data: Mapping[str, float]
) -> Any:
    """The outputs that the launches of a text fill.

    Args:
        shape: of the output, or a list of shapes.
        dtype: of the output, or a list of as many.
        inputs: Vars.
        source: kernels and launches.
        gradients: for each input another such text, which fills `out` from `dout`, the inputs and `pout`.
        header: what stands above each of them.
        data: numbers that they read as data["name"].

    Raises:
        ArgumentError: a text is no Python, launches no kernel, or reads what `data` has not; a negative length.

    Example:
        >>> text = '''
        ... @cuda.jit
        ... def kernel(@ARGS_DEF):
        ...     i = cuda.grid(1)
        ...     if i < in0_shape0:
        ...         @out(i) = 2 * @in0(i)
        ... kernel[1, 32](@ARGS)
        ... '''
        >>> cuda_code((3,), "float32", [array([1.0, 2.0, 3.0])], text, (), "", {}).tolist()
        [2.0, 4.0, 6.0]
    """
    several, ins = isinstance(dtype, (list, tuple)), [f"in{k}" for k in range(len(inputs))]
    outs = [f"out{k}" for k in range(len(dtype))] if several else ["out"]
    backward = (gradients,) if isinstance(gradients, str) else tuple(gradients)
    if several and backward:
        raise ArgumentError("a cuda_grad_src is for one output", f"{len(dtype)} outputs", "a jt.code for each of them")
    if len(backward) > len(inputs):
        raise ArgumentError("there is one cuda_grad_src for each input", f"{len(backward)} for {len(inputs)}", "fewer")
    numbers = tuple((key, float(value)) for key, value in sorted(data.items()))
    forward = Launches(_python(source, header, [*ins, *outs], data), numbers)
    back = [Launches(_python(text, header, [*ins, "pout", "dout", "out"], data), numbers) for text in backward]
    return numpy_code(shape, dtype, [as_var(x) for x in inputs], forward, back)


def _python(source: str, header: str, names: Sequence[str], data: Mapping[str, float]) -> str:
    """The text in Python's words; refused, where it is none."""
    for text in (source, header):
        if not isinstance(text, str):
            raise ArgumentError("cuda_src and cuda_header are texts", f"{text!r:.60}", '"""..."""')
    body = re.sub(r"@ARGS(_DEF)?\b", ", ".join(names), textwrap.dedent(source).strip("\n"))
    try:
        words = jittor_words(body.replace("@PRECALC", "pass"), {name: Array(name, 0, "in") for name in names})
        text = "\n".join([*filter(None, [textwrap.dedent(header).strip("\n")]), words, ""])
        compile(text, "cuda_src", "exec")
    except (SyntaxError, ValueError, tokenize.TokenError) as error:  # ValueError: letters that no file can hold
        told = error.args[0] if isinstance(error, tokenize.TokenError) else error  # and where, in brackets
        found = str(getattr(error, "text", None) or told).strip()[:80].encode(errors="backslashreplace").decode()
        way = "kernels under @cuda.jit, and kernel[blocks, threads](@ARGS) below them"
        raise ArgumentError("cuda_src is Python, in the words of numba.cuda", found, way) from None
    _check(ast.parse(text), data)
    return text


def _check(tree: ast.Module, data: Mapping[str, float]) -> None:
    """Refuse kernels that nobody launches, which would give zeros, and numbers that nobody has given."""
    kernels, used = set[str](), set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.Name(name):
                used.add(name)
            case ast.FunctionDef(name, decorator_list=[ast.Attribute(attr="jit") | ast.Name("jit")]):
                kernels.add(name)
            case ast.Subscript(ast.Name("data"), ast.Constant(str(name))) if name not in data:
                found = f"data with {', '.join(data) or 'nothing in it'}"
                raise ArgumentError(f'cuda_src reads data["{name}"]', found, f'jt.code(..., data={{"{name}": 1.0}})')
    if kernels and not kernels & used:
        asked, way = "cuda_src launches its kernels", f"{min(kernels)}[blocks, threads](@ARGS) below them"
        raise ArgumentError(asked, f"no launch of {min(kernels)}", way)
