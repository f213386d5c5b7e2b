/* A driver that has nothing to do, and is done at once: what is left is the time of the host. */
#include <stdlib.h>
#include <string.h>
typedef unsigned long long P;
static long handles = 1;
int cuInit(unsigned f){return 0;}
int cuGetErrorName(int c,const char**n){*n="X";return 0;}
int cuDriverGetVersion(int*v){*v=13000;return 0;}
int cuDeviceGetCount(int*c){*c=1;return 0;}
int cuDeviceGetName(char*n,int s,int d){strncpy(n,"Idle",s);return 0;}
int cuDeviceGetAttribute(int*f,int w,int d){*f=w==75?9:w==97?232448:0;return 0;}
int cuDevicePrimaryCtxRetain(void**c,int d){*c=(void*)1;return 0;}
int cuCtxSetCurrent(void*c){return 0;}
int cuStreamCreate(void**s,unsigned f){*s=(void*)1;return 0;}
int cuStreamQuery(void*s){return 0;}
int cuMemHostAlloc(void**m,size_t n,unsigned f){*m=malloc(n);return 0;}
int cuEventCreate(void**e,unsigned f){*e=(void*)(handles++);return 0;}
int cuEventRecord(void*e,void*s){return 0;}
int cuEventQuery(void*e){return 0;}
int cuEventElapsedTime(float*t,void*a,void*b){static float n;*t=n+=100;return 0;}
int cuMemAllocAsync(P*m,size_t n,void*s){*m=(P)calloc(n,1);return 0;}
int cuMemFreeAsync(P p,void*s){free((void*)p);return 0;}
int cuMemcpyHtoDAsync_v2(P t,const void*f,size_t n,void*s){memcpy((void*)t,f,n);return 0;}
int cuMemcpyDtoHAsync_v2(void*t,P f,size_t n,void*s){memcpy(t,(void*)f,n);return 0;}
int cuMemcpyDtoDAsync_v2(P t,P f,size_t n,void*s){memcpy((void*)t,(void*)f,n);return 0;}
int cuModuleLoadData(void**m,const void*i){*m=(void*)(handles++);return 0;}
int cuModuleGetFunction(void**f,void*m,const char*n){*f=(void*)(handles++);return 0;}
int cuFuncSetAttribute(void*f,int w,int v){return 0;}
int cuLaunchKernel(void*f,unsigned a,unsigned b,unsigned c,unsigned d,unsigned e,unsigned g,unsigned s,void*st,void**p,void**x){return 0;}
int cuGraphCreate(void**g,unsigned f){*g=(void*)(handles++);return 0;}
int cuGraphAddKernelNode_v2(void**n,void*g,void*const*b,size_t c,const void*k){*n=(void*)(handles++);return 0;}
int cuGraphInstantiateWithFlags(void**m,void*g,unsigned long long f){*m=(void*)(handles++);return 0;}
int cuGraphExecKernelNodeSetParams_v2(void*m,void*n,const void*k){return 0;}
int cuGraphLaunch(void*m,void*s){return 0;}
int cuGraphExecDestroy(void*m){return 0;}
int cuGraphDestroy(void*g){return 0;}
