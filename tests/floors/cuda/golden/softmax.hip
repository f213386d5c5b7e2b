#include <hip/hip_runtime.h>

template <typename T> __device__ T maximum(T a, T b) { return a > b || a != a ? a : b; }  // nan, if one of them is

__global__ void each(long long n0, long long n1, long long n2, long long n3, float c0, const float* a0,
        long long a0_n1, float* out0, long long out0_n1)
{
    long long i0 = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i0 < n0) {
        float s0 = -INFINITY;
        for (long long i1 = 0; i1 < n1; i1++) {
            s0 = maximum(s0, a0[i0 * a0_n1 + i1]);
        }
        double s1 = 0.0;
        for (long long i2 = 0; i2 < n2; i2++) {
            float t0 = a0[i0 * a0_n1 + i2] - s0;
            float t1 = expf(t0);
            out0[i0 * out0_n1 + i2] = t1;
            s1 = s1 + t1;
        }
        float t2 = (float)s1;
        float t3 = c0 / t2;
        for (long long i3 = 0; i3 < n3; i3++) {
            float t4 = out0[i0 * out0_n1 + i3] * t3;
            out0[i0 * out0_n1 + i3] = t4;
        }
    }
}
