/* What was built, and the kernel that breaks on purpose. */
#include "kernels/cuda/launch.cuh"

#define ENTRIES(...)                                                                           \
    {                                                                                          \
        __VA_ARGS__, 0                                                                         \
    }
static const unsigned architectures[] = ENTRIES(__CUDA_ARCH_LIST__);

/* The list is in units of 10: 900 is sm_90. */
extern "C" unsigned launch_built_for(unsigned index)
{
    return index < sizeof architectures / sizeof *architectures ? architectures[index] / 10 : 0;
}

static __global__ void violate(int *nowhere)
{
    *(volatile int *)nowhere = 1;
}

extern "C" int launch_violation(void *stream)
{
    return launch(stream, 1, 1, violate, (int *)(uintptr_t)64);
}
