"""Version: which one is this, and what was it built for? The names are those of `torch.version`.

>>> import jt_edu as jt
>>> jt.version.cuda, jt.version.hip
(None, None)
"""

from __future__ import annotations

__version__ = "0.1.0"
cuda: str | None = None  # of CUDA, if kernels ran on cards of NVIDIA: here an interpreter runs them (decision 095)
hip: str | None = None  # of ROCm, if they ran on cards of AMD: for those there is a text, and no more (decision 098)
