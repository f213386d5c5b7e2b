"""12.2: to which dtypes does autocast cast what a function is given?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.precision.probes import texts
from jt_exercises.verdict import RefusedError, ask, part

HALVES = "bfloat16", "float16"
CASES: dict[str, list[tuple[list[str], str]]] = {  # rule -> what is given, and to what its floats are cast
    "lower": [
        (["float32", "float32"], "half"),
        (["half", "float32"], "half"),
        (["other"], "half"),
        (["float32", "int64"], "half"),
        (["float64", "float32", "int64"], "half"),
    ],
    "float32": [
        (["half", "half"], "float32"),
        (["half", "int64"], "float32"),
        (["float32"], "float32"),
        (["float64", "half"], "float32"),
    ],
    "widest": [
        (["half", "half"], "half"),
        (["half", "float32"], "float32"),
        (["float32", "half", "half"], "float32"),
        (["half", "other"], "float32"),
        (["half", "int64", "half"], "half"),
        (["half", "float64", "half"], "half"),
        (["int64", "bool"], "half"),
    ],
    "": [(["half", "float32", "int64"], ""), (["half", "half"], ""), ([], "")],
}


@exercise(
    "12.2",
    "who computes in which dtype?",
    points=2,
    hints=(
        "First choose one dtype for the whole call. Then replace those of `dtypes` that are in `FLOATS`.",
        "`widest` looks at those that may be cast only: are they all `half`?",
        'to = {"lower": half, "float32": "float32", "widest": half if same else "float32"}',
    ),
    why="""Nobody has to say at each line in which dtype it computes. Products, which cost the most, run in halves;
    losses and norms, where rounding hurts, in float32.""",
)
def policy(answer: Callable[..., Any]) -> str:
    """Ask for each rule, with either half as that of the region."""
    for rule, cases in CASES.items():
        with part(repr(rule)):
            for half, other in (HALVES, HALVES[::-1]):
                names = {"half": half, "other": other}
                for given, to in cases:
                    dtypes = [names.get(dtype, dtype) for dtype in given]
                    _one(answer, rule, dtypes, half, names.get(to, to))
    return "right in every list, and for both halves"


def _one(answer: Callable[..., Any], rule: str, dtypes: list[str], half: str, to: str) -> None:
    stays = ("int64", "bool", "float64")
    right = [to if to and dtype not in stays else dtype for dtype in dtypes]
    case = f'"{rule}", {dtypes}, "{half}"'
    found = ask(answer, rule, dtypes, half, case=case, name="policy", through=texts)
    if not isinstance(found, list) or not all(isinstance(dtype, str) for dtype in found):
        raise RefusedError(f"policy returns a list of texts, not {found!r}")
    if len(found) != len(right):
        raise RefusedError(f"policy({case}) returns a list of {len(found)}, for {len(right)} arrays")
    if found == right:
        return
    k = next(k for k in range(len(right)) if found[k] != right[k])
    why = {
        "lower": f"in the list `lower` all floats of 16 and 32 bits become {half}",
        "float32": "in the list `float32` all floats of 16 and 32 bits become float32",
        "widest": "look at all floats that may be cast: are they all of the dtype `half`?",
        "": "in no list each array stays what it is",
    }[rule]
    if dtypes[k] in stays:
        why = f"{dtypes[k]} stays what it is, in every list"
    elif rule == "widest" and right[k] == "float32" and found[k] == half:
        why = "in the list `widest` one array that is not `half` makes all of them float32"
    raise RefusedError(f"policy({case}): {why}", found, right)
