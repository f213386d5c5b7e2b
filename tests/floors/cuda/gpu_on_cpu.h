// A GPU for g++: each thread of a block is one of this machine, and blocks run one after the other.
//
// WAVE lanes go together: 32 on NVIDIA's cards, 32 or 64 on AMD's. A shuffle of 32 stays in its half of 64.

#include <math.h>

#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#define __global__ static
#define __device__ static
#define __shared__ static

struct Dim3 {
    unsigned x, y, z;
};

struct Wave {
    std::barrier<> wait;
    unsigned long long slots[WAVE];
    explicit Wave(int lanes) : wait(lanes), slots{} {}
};

static thread_local Dim3 threadIdx;
static Dim3 blockIdx, blockDim, gridDim;
static std::unique_ptr<std::barrier<>> block_wait;
static thread_local Wave* wave;
static thread_local int lane;
static std::mutex one_at_a_time;

static void __syncthreads() { block_wait->arrive_and_wait(); }
static void __syncwarp() { wave->wait.arrive_and_wait(); }
static void __threadfence() {}
static void __threadfence_block() {}
static int __lane_id() { return lane; }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, 4);
    return bits;
}
static float __uint_as_float(unsigned bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
static float rsqrtf(float x) { return 1 / sqrtf(x); }
static double rsqrt(double x) { return 1 / sqrt(x); }

template <typename T> static T taken(T value, int from)
{
    memcpy(&wave->slots[lane], &value, sizeof(T));
    wave->wait.arrive_and_wait();
    memcpy(&value, &wave->slots[from], sizeof(T));
    wave->wait.arrive_and_wait();
    return value;
}

template <typename T> static T __shfl_xor(T value, int by, int width) { return taken(value, lane ^ (by % width)); }
template <typename T> static T __shfl(T value, int from, int width)
{
    return taken(value, lane / width * width + from % width);
}
template <typename T> static T __shfl_down(T value, int by, int width)
{
    return taken(value, lane % width + by < width ? lane + by : lane);
}
template <typename T> static T __shfl_up(T value, int by, int width)
{
    return taken(value, lane % width >= by ? lane - by : lane);
}
template <typename T> static T __shfl_xor_sync(unsigned, T value, int by) { return __shfl_xor(value, by, 32); }
template <typename T> static T __shfl_sync(unsigned, T value, int from) { return __shfl(value, from, 32); }
template <typename T> static T __shfl_down_sync(unsigned, T value, int by) { return __shfl_down(value, by, 32); }
template <typename T> static T __shfl_up_sync(unsigned, T value, int by) { return __shfl_up(value, by, 32); }

static unsigned long long __ballot(bool vote)
{
    unsigned long long votes = 0;
    for (int from = 0; from < WAVE; from++) {
        votes |= (unsigned long long)taken((int)vote, from) << from;
    }
    return votes;
}
static unsigned __ballot_sync(unsigned, bool vote) { return (unsigned)(__ballot(vote) >> (lane & 32)); }
static int __any_sync(unsigned, bool vote) { return __ballot_sync(0, vote) != 0; }
static int __all_sync(unsigned, bool vote) { return __ballot_sync(0, !vote) == 0; }

// Tensor cores: lane 4 g + t has A[g, t], A[g + 8, t], A[g, t + 4], A[g + 8, t + 4], and B[t, g], B[t + 4, g].
static float tf32(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000) & 0xffffe000); }
static float part(float word, int) { return __uint_as_float(__float_as_uint(word) & 0xffffe000); }
static float part(unsigned word, int second) { return __uint_as_float(second ? word & 0xffff0000 : word << 16); }  // bfloat16
template <typename T> static void multiplied(float* d, const T* a, const T* b, const float* c, int parts)
{
    int group = lane % 32 / 4 * 4, place = lane % 4;
    for (int k = 0; k < 4; k++) {
        d[k] = c[k];
    }
    for (int k = 0; k < 8 * parts; k++) {
        int word = k / parts, from = word % 4, half = word / 4 * 2;
        T rows[2] = {__shfl(a[half], group + from, 32), __shfl(a[half + 1], group + from, 32)};
        for (int e = 0; e < 4; e++) {
            T column = __shfl(b[word / 4], (2 * place + e % 2) * 4 + from, 32);
            d[e] += part(rows[e / 2], k % parts) * part(column, k % parts);
        }
    }
}
static void mma_tf32(float* d, const float* a, const float* b, const float* c) { multiplied(d, a, b, c, 1); }
static void mma_bfloat16(float* d, const unsigned* a, const unsigned* b, const float* c) { multiplied(d, a, b, c, 2); }

static void __builtin_amdgcn_fence(int, const char*) {}
static void __builtin_amdgcn_wave_barrier() { wave->wait.arrive_and_wait(); }

template <typename T> using Same = std::type_identity_t<T>;  // the type is that of the place alone

template <typename T, typename F> static T changed(T* place, F after)
{
    std::lock_guard<std::mutex> guard(one_at_a_time);
    T before = *place;
    *place = after(before);
    return before;
}
template <typename T> static T atomicAdd(T* place, Same<T> x) { return changed(place, [=](T old) { return T(old + x); }); }
template <typename T> static T atomicSub(T* place, Same<T> x) { return changed(place, [=](T old) { return T(old - x); }); }
template <typename T> static T atomicMax(T* place, Same<T> x) { return changed(place, [=](T old) { return x > old ? x : old; }); }
template <typename T> static T atomicExch(T* place, Same<T> x) { return changed(place, [=](T) { return x; }); }
template <typename T> static T atomicCAS(T* place, Same<T> was, Same<T> x)
{
    return changed(place, [=](T old) { return old == was ? x : old; });
}

static void thread_of_block(const std::function<void()>& kernel, int number, Wave* own)
{
    int line = number / blockDim.x;
    threadIdx = {number % blockDim.x, line % blockDim.y, line / blockDim.y};
    wave = own;
    lane = number % WAVE;
    kernel();
    block_wait->arrive_and_drop();
    wave->wait.arrive_and_drop();
}

// `blocks` and `threads` are three numbers each.
static void launched(const unsigned* blocks, const unsigned* threads, bool alone, std::function<void()> kernel)
{
    gridDim = {blocks[0], blocks[1], blocks[2]};
    blockDim = {threads[0], threads[1], threads[2]};
    int size = threads[0] * threads[1] * threads[2];
    for (unsigned number = 0; number < blocks[0] * blocks[1] * blocks[2]; number++) {
        blockIdx = {number % blocks[0], number / blocks[0] % blocks[1], number / blocks[0] / blocks[1]};
        block_wait = std::make_unique<std::barrier<>>(size);
        std::vector<std::unique_ptr<Wave>> waves;
        for (int first = 0; first < size; first += WAVE) {
            waves.push_back(std::make_unique<Wave>(size - first < WAVE ? size - first : WAVE));
        }
        std::vector<std::thread> running;
        for (int k = 0; k < size; k++) {
            auto one = [&, k] { thread_of_block(kernel, k, waves[k / WAVE].get()); };
            if (alone) {  // nobody waits for another
                one();
            } else {
                running.emplace_back(one);
            }
        }
        for (auto& each : running) {
            each.join();
        }
    }
}
