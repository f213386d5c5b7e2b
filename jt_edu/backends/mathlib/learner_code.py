"""Learner code: the functions of `learner_bodies`, for kernels."""

from __future__ import annotations

from jt_edu.backends import learner_bodies
from jt_edu.backends.mathlib.simd_math import extending

fill, inside, part, set_size = map(
    extending.register_jitable,
    (learner_bodies.fill, learner_bodies.inside, learner_bodies.part, learner_bodies.set_size),
)
