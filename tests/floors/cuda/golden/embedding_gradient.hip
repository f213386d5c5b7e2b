#include <hip/hip_runtime.h>

__device__ long long wrap(long long i, long long n) { return i < 0 ? i + n : i; }  // counts from the end

__global__ void scatter0(long long n0, long long n1, long long n2, long long n3, long long k0, long long k1,
        long long k2, long long k3, long long k4, float c0, const float* a0, const long long* a1,
        const float* out0, double* acc0, const double* acc1)
{
    long long i0 = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i0 < n0) {
        acc0[i0] = 0.0;
    }
}

__global__ void scatter1(long long n0, long long n1, long long n2, long long n3, long long k0, long long k1,
        long long k2, long long k3, long long k4, float c0, const float* a0, long long a0_n1,
        const long long* a1, const float* out0, const double* acc0, double* acc1, long long acc1_n1)
{
    long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n1 * n2) {
        long long i1 = j / n2;
        long long i2 = j % n2;
        float x0 = a0[wrap(a1[i1], k1) * a0_n1 + i2];
        float t0 = c0 * x0;
        float t1 = c0 * x0;
        float t2 = t0 + t1;
        atomicAdd(&acc1[wrap(a1[i1], k4) * acc1_n1 + i2], t2);
    }
}

__global__ void scatter2(long long n0, long long n1, long long n2, long long n3, long long k0, long long k1,
        long long k2, long long k3, long long k4, float c0, const float* a0, const long long* a1, float* out0,
        const double* acc0, const double* acc1)
{
    long long i3 = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i3 < n3) {
        out0[i3] = (float)acc0[i3];
    }
}
