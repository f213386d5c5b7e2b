"""Launches on a GPU, all but the GPU: a library stands in the place of NVIDIA's driver."""

import numpy as np

from jt_edu import cuda


@cuda.jit
def scaled(n, by, x, out):
    i = cuda.grid(1)
    if i < n:
        out[i] = by * x[i]


def test_a_kernel_reads_and_writes_arrays_of_the_gpu(card):
    library = card()
    x, out = cuda.to_device(np.arange(70, dtype=np.float32)), cuda.device_array(70, "float32")
    scaled[3, 32](70, 2.5, x, out)
    assert library.launches == [("scaled", (3, 1, 1), (32, 1, 1), 0)]
    assert "cuMemcpyDtoHAsync_v2" not in library.calls
    assert np.array_equal(out.copy_to_host(), 2.5 * np.arange(70, dtype=np.float32))
