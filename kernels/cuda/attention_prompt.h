/* attention_prompt: as launch_decoder.h, of the operation attend_prompt. */
#ifndef HIGHWATER_KERNELS_CUDA_ATTENTION_PROMPT_H
#define HIGHWATER_KERNELS_CUDA_ATTENTION_PROMPT_H

#include "kernels/cuda/launch_decoder.h"

#ifdef __cplusplus
extern "C"
#endif
    int
    launch_attend_prompt(void *stream, const struct prompt_attention *of);

#endif
