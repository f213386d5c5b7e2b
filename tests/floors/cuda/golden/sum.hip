#include <hip/hip_runtime.h>

__device__ unsigned laneid()
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}

__device__ double added(double a, double b)
{
    return a + b;
}

__device__ double block_add(double value, double* room)
{
    for (long long lanes : {16, 8, 4, 2, 1}) {
        value = added(value, __shfl_xor(value, lanes, 32));
    }
    if (laneid() == 0) {
        room[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = room[0];
    for (long long warp = 1; warp < blockDim.x / 32; warp++) {
        value = added(value, room[warp]);
    }
    return value;
}

__global__ void rows(long long n0, const float* a0, float* out0)
{
    long long thread = threadIdx.x;
    long long threads = blockDim.x;
    double s0 = 0.0;
    for (long long i0 = thread; i0 < n0; i0 += threads) {
        s0 = s0 + a0[i0];
    }
    __shared__ double room0[32];
    s0 = block_add(s0, room0);
    float t0 = (float)s0;
    if (thread == 0) {
        out0[0] = t0;
    }
}
