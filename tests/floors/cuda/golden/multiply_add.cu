__global__ void each(long long n0, long long n1, const float* a0, long long a0_n1, const float* a1,
        long long a1_n1, const float* a2, float* out0, long long out0_n1)
{
    long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n0 * n1) {
        long long i0 = j / n1;
        long long i1 = j % n1;
        float t0 = a0[i0 * a0_n1 + i1] * a1[i0 * a1_n1 + i1];
        float t1 = t0 + a2[i1];
        out0[i0 * out0_n1 + i1] = t1;
    }
}
