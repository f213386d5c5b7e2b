"""Spectral methods: which triangle is read, how much of U and V is wanted, what counts as 0."""

import numpy as np

from jt_edu.linalg.eigh import eigh, eigvalsh
from jt_edu.linalg.pinv import pinv
from jt_edu.linalg.svd import svd
from tests.arguments.inputs import some
from tests.arguments.rows import Given, as_numpy, as_torch, shows

SQUARE, TALL = some(4, 4), some(5, 3)
SMALL = np.diag([4.0, 1.0, 1e-3])
UPPER = float(np.linalg.eigvalsh(SQUARE, "U")[0])


def _pinv(torch, a, **words):
    return torch.linalg.pinv(a, **words)


ROWS = [
    *as_numpy(eigvalsh, SQUARE, twin=np.linalg.eigvalsh, UPLO="U"),
    *shows(eigh, "UPLO", "U", lambda **given: abs(eigh(SQUARE, **given)[0][0].item() - UPPER) < 1e-9),
    *shows(svd, "full_matrices", False, lambda **given: svd(TALL, **given).U.shape, (5, 3)),
    *as_torch(pinv, SMALL, twin=_pinv, rtol=0.5, atol=Given(2.0, rtol=0.01)),
    *as_torch(pinv, SQUARE, twin=_pinv, hermitian=True),
    *as_numpy(pinv, SMALL, twin=np.linalg.pinv, rcond=0.5),
]
