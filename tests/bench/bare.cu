// bare: what a point of `dense` costs without any harness: a context, a cuBLAS handle and the
// same products, nothing measured, nothing kept.
//
//     bare BATCH CONTEXT WIDTH TIMES
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                            \
    do {                                                                                       \
        if ((call) != 0) {                                                                     \
            fprintf(stderr, "bare: %s failed\n", #call);                                       \
            return 1;                                                                          \
        }                                                                                      \
    } while (0)

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    const int rows = atoi(argv[1]) * atoi(argv[2]), width = atoi(argv[3]), wide = 4 * width;
    const float one = 1, zero = 0;
    float *x, *hidden, *w;
    cublasHandle_t handle;
    CHECK(cudaFree(0));
    CHECK(cublasCreate(&handle));
    CHECK(cudaMalloc((void **)&x, sizeof(float) * rows * width));
    CHECK(cudaMalloc((void **)&hidden, sizeof(float) * rows * wide));
    CHECK(cudaMalloc((void **)&w, sizeof(float) * 2 * width * wide));
    for (int i = 0; i < atoi(argv[4]); i++) {
        CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, wide, rows, width, &one, w, wide, x,
                          width, &zero, hidden, wide));
        CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, width, rows, wide, &one,
                          w + (size_t)width * wide, width, hidden, wide, &zero, x, width));
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
