#include <hip/hip_runtime.h>

template <typename T> __device__ T maximum(T a, T b) { return a > b || a != a ? a : b; }  // nan, if one of them is

__global__ void tiles(long long n0, long long n1, long long n2, long long k0, long long k1, long long k2,
        long long k3, float c0, const float* a0, const float* a1, const float* a2, float* out0, float* out1)
{
    n0 = (int)n0;
    n1 = (int)n1;
    n2 = (int)n2;
    k0 = (int)k0;
    k1 = (int)k1;
    k2 = (int)k2;
    k3 = (int)k3;
    __shared__ float left[2][16][5][4];
    float next_left[1];
    __shared__ float right[2][16][5][4];
    float next_right[1];
    long long thread = threadIdx.x;
    long long high = (n0 + 15) / 16;
    long long wide = (n1 + 15) / 16;
    int row = (int)(blockIdx.x % high * 16);
    int column = (int)(blockIdx.x / high % wide * 16);
    long long down = thread / 64 * 4 + thread % 32 / 8;
    long long across = thread / 32 % 2 * 8 + thread % 8;
    float s0 = 0.0f;
    int u0 = (int)(thread % 16);
    int i1 = (int)(row + thread / 16);
    int v0 = (int)(thread / 16);
    int i2 = (int)(column + thread % 16);
    for (long long first = 0; first < n2 + 16; first += 16) {
        long long buffer = first / 16 % 2;
        for (long long turn = 0; turn < 1; turn++) {
            i1 = (int)(row + thread / 16 + 16 * turn);
            float number = 0.0f;
            if (u0 < n2 && i1 < n0) {
                number = a0[(int)(i1 * k0 + u0)];
            }
            next_left[turn] = number;
        }
        u0 = (int)((long long)u0 + 16);
        for (long long turn = 0; turn < 1; turn++) {
            float number = 0.0f;
            if (v0 < n2 && i2 < n1) {
                number = a1[(int)(v0 * k1 + i2)];
            }
            next_right[turn] = number;
            v0 = (int)((long long)v0 + 1);
        }
        v0 = (int)((long long)v0 + 15);
        if (first > 0) {
            for (long long k = 0; k < 16; k++) {
                s0 = s0 + left[1 - buffer][k][down / 4][down % 4] * right[1 - buffer][k][across / 4][across % 4];
            }
        }
        for (long long turn = 0; turn < 1; turn++) {
            left[buffer][thread % 16][(thread / 16 + 16 * turn) / 4][(thread / 16 + 16 * turn) % 4] = next_left[turn];
        }
        for (long long turn = 0; turn < 1; turn++) {
            right[buffer][thread / 16 + turn][thread % 16 / 4][thread % 16 % 4] = next_right[turn];
        }
        __syncthreads();
    }
    i1 = (int)(row + down);
    i2 = (int)(column + across);
    if (i1 < n0 && i2 < n1) {
        out0[(int)(i1 * k2 + i2)] = s0;
        float t0 = s0 + a2[i2];
        float t1 = maximum(t0, c0);
        out1[(int)(i1 * k3 + i2)] = t1;
    }
}
