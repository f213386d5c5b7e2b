/* A driver in C, with the types of NVIDIA's and without a GPU: what ctypes hands over arrives as it was.
   Handles and addresses have 64 bits. A launch adds up the first two arrays after a number, in the third. */

#include <stdlib.h>
#include <string.h>

typedef unsigned long long Pointer;
static void *const CONTEXT = (void *)0x7f1234567890, *const STREAM = (void *)0x7faaaabbbbcccc;
static void *const EVENT = (void *)0x7f4444333322;
static void *const MODULE = (void *)0x7f5555666677, *const FUNCTION = (void *)0x7f8888999900;
static int entered, allowed;

int cuInit(unsigned flags) { return flags; }
int cuGetErrorName(int code, const char **name) { *name = "NAME_IN_C"; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strncpy(name, "Of C", size); return device; }
int cuDeviceGetAttribute(int *found, int which, int device) { *found = which == 75 ? 8 : which == 76 ? 6 : which == 97 ? 101376 : -1; return device; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = CONTEXT; return device; }
int cuCtxSetCurrent(void *context) { entered = context == CONTEXT; return !entered; }
int cuStreamCreate(void **stream, unsigned flags) { *stream = STREAM; return flags != 1; }
int cuStreamQuery(void *stream) { static int looks; return stream != STREAM ? 1 : ++looks % 3 ? 600 : 0; }
int cuMemHostAlloc(void **made, size_t size, unsigned flags) { *made = malloc(size); return flags != 1; }
int cuEventCreate(void **event, unsigned flags) { *event = EVENT; return flags != 2 && flags != 0; }
int cuEventRecord(void *event, void *stream) { return event != EVENT || stream != STREAM; }
int cuEventQuery(void *event) { static int looks; return event != EVENT ? 1 : ++looks % 3 ? 600 : 0; }
int cuEventElapsedTime(float *ms, void *from, void *to) { *ms = 1500; return from != EVENT || to != EVENT; }
int cuMemAllocAsync(Pointer *made, size_t size, void *stream) {
    *made = (Pointer)malloc(size);
    return stream != STREAM || size >> 40 ? 2 : 0;
}
int cuMemFreeAsync(Pointer pointer, void *stream) { free((void *)pointer); return stream != STREAM; }
int cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t size, void *stream) {
    memcpy((void *)to, from, size);
    return stream != STREAM;
}
int cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t size, void *stream) {
    memcpy(to, (void *)from, size);
    return stream != STREAM;
}
int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t size, void *stream) {
    memcpy((void *)to, (void *)from, size);
    return stream != STREAM;
}
int cuModuleLoadData(void **module, const void *image) { *module = MODULE; return memcmp(image, "a\0b", 3) ? 200 : 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = FUNCTION;
    return module != MODULE || strcmp(name, "add") ? 500 : 0;
}
int cuFuncSetAttribute(void *function, int which, int value) { allowed = value; return function != FUNCTION || which != 8; }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    if (function != FUNCTION || stream != STREAM || parameters || !entered) return 400;
    if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4]) return 1;
    if (gx != 2147483647 || gy != 65535 || gz != 3 || bx != 4 || by != 5 || bz != 6 || shared != allowed) return 701;
    long long *words = extra[1];
    if (*(size_t *)extra[3] != 8 * 22) return 1;
    float *a = (float *)words[5], *b = (float *)words[12], *sum = (float *)words[19];
    for (long long i = 0; i < words[0]; i++) sum[i] = a[i] + b[i];
    return 0;
}

/* Graphs: one, of at most four nodes, each behind the one before. */

typedef struct {
    void *function;
    unsigned gx, gy, gz, bx, by, bz, shared;
    void **parameters, **extra;
    void *kernel, *context;
} KernelNode;

static void *const GRAPH = (void *)0x7f2222333344, *const EXECUTABLE = (void *)0x7f6666777788;
static char nodes[4];
static KernelNode kept[2][4];
static long long rows[2][4][22];
static size_t count;

static void keep(int where, size_t i, const KernelNode *from) { /* 0: as they were added, 1: as they run */
    static void *extra[2][4][5];
    static size_t length = 8 * 22;
    void *list[5] = {(void *)1, rows[where][i], (void *)2, &length, 0};
    memmove(rows[where][i], from->extra[1], *(size_t *)from->extra[3]);
    memcpy(extra[where][i], list, sizeof list);
    kept[where][i] = *from;
    kept[where][i].extra = extra[where][i];
}

int cuGraphCreate(void **graph, unsigned flags) { *graph = GRAPH; count = 0; return flags; }
int cuGraphAddKernelNode_v2(void **node, void *graph, void *const *before, size_t many, const KernelNode *given) {
    if (graph != GRAPH || count == 4 || many != (count > 0) || given->kernel || given->context) return 1;
    if (many && before[0] != &nodes[count - 1]) return 2;
    keep(0, count, given);
    *node = &nodes[count++];
    return 0;
}
int cuGraphInstantiateWithFlags(void **made, void *graph, unsigned long long flags) {
    for (size_t i = 0; i < count; i++) keep(1, i, &kept[0][i]);
    *made = EXECUTABLE;
    return graph != GRAPH || flags;
}
int cuGraphExecKernelNodeSetParams_v2(void *made, void *node, const KernelNode *given) {
    size_t i = (char *)node - nodes;
    if (made != EXECUTABLE || i >= count) return 1;
    keep(1, i, given);
    return 0;
}
int cuGraphLaunch(void *made, void *stream) {
    int code = made != EXECUTABLE;
    for (size_t i = 0; i < count && !code; i++) {
        KernelNode *n = &kept[1][i];
        code = cuLaunchKernel(n->function, n->gx, n->gy, n->gz, n->bx, n->by, n->bz, n->shared, stream,
                              n->parameters, n->extra);
    }
    return code;
}
int cuGraphExecDestroy(void *made) { return made != EXECUTABLE; }
int cuGraphDestroy(void *graph) { return graph != GRAPH; }
