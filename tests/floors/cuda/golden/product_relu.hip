#include <hip/hip_runtime.h>

template <typename T> __device__ T maximum(T a, T b) { return a > b || a != a ? a : b; }  // nan, if one of them is

__global__ void tiles(long long n0, long long n1, long long n2, float c0, const float* a0, long long a0_n1,
        const float* a1, long long a1_n1, const float* a2, float* out0, long long out0_n1, float* out1,
        long long out1_n1)
{
    __shared__ float left[16][17];
    __shared__ float right[16][17];
    long long thread = threadIdx.x;
    long long blocks = (n0 + 15) / 16;
    long long row = blockIdx.x % blocks * 16;
    long long column = (long long)blockIdx.y * 16;
    float s0 = 0.0f;
    for (long long first = 0; first < n2; first += 16) {
        for (long long e = thread; e < 256; e += 256) {
            long long i0 = first + e % 16;
            long long i1 = row + e / 16;
            float number = 0.0f;
            if (i0 < n2 && i1 < n0) {
                number = a0[i1 * a0_n1 + i0];
            }
            left[e % 16][e / 16] = number;
        }
        for (long long e = thread; e < 256; e += 256) {
            long long i0 = first + e / 16;
            long long i2 = column + e % 16;
            float number = 0.0f;
            if (i0 < n2 && i2 < n1) {
                number = a1[i0 * a1_n1 + i2];
            }
            right[e / 16][e % 16] = number;
        }
        __syncthreads();
        for (long long i0 = 0; i0 < 16; i0++) {
            s0 = s0 + left[i0][thread / 16] * right[i0][thread % 16];
        }
        __syncthreads();
    }
    long long i1 = row + thread / 16;
    long long i2 = column + thread % 16;
    if (i1 < n0 && i2 < n1) {
        out0[i1 * out0_n1 + i2] = s0;
        float t0 = s0 + a2[i2];
        float t1 = maximum(t0, c0);
        out1[i1 * out1_n1 + i2] = t1;
    }
}
