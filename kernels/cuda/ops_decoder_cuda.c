/* The decoder's operations on a card: its kernels, cuBLAS for products of many rows, and steps
 * recorded as graphs. */
#include "harness/device/cuda/device_cuda.h"
#include "kernels/cuda/attention_cache.h"
#include "kernels/cuda/attention_prompt.h"
#include "kernels/cuda/blas.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_decoder.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE(name, type)                                                                      \
    static enum outcome name(struct math *math, const struct type *of)                         \
    {                                                                                          \
        void *stream = device_cuda_stream(math->device);                                       \
        return device_cuda_outcome(math->device, launch_##name(stream, of), #name);            \
    }
QUEUE(embed, embedding)
QUEUE(normalise, norm)
QUEUE(place, token_placement)
QUEUE(attend_prompt, prompt_attention)
QUEUE(attend_cache, cache_attention)
QUEUE(gate, gating)
QUEUE(choose, token_choice)
QUEUE(take_pages, paging)
#undef QUEUE

static enum outcome project(struct math *math, const struct projection *of)
{
    return blas_project(math, math->state, of);
}

static enum outcome add_bias(struct math *math, const struct row_bias *of)
{
    return device_cuda_outcome(math->device,
                               launch_bias(device_cuda_stream(math->device), of->x.address,
                                           of->bias.address, of->x.dtype, of->rows, of->width,
                                           0),
                               "bias");
}

static enum outcome copy_rows(struct math *math, const struct row_copy *of)
{
    return device_cuda_outcome(math->device,
                               (int)cudaMemcpy2DAsync((void *)(uintptr_t)of->to, of->to_stride,
                                                      (const void *)(uintptr_t)of->from,
                                                      of->from_stride, of->bytes, of->rows,
                                                      cudaMemcpyDeviceToDevice,
                                                      device_cuda_stream(math->device)),
                               "cudaMemcpy2DAsync");
}

static enum outcome store(struct math *math, uint64_t to, const uint64_t *words, uint64_t count)
{
    enum outcome outcome = OUTCOME_OK;
    for (uint64_t at = 0; at < count && outcome == OUTCOME_OK; at += STORE_WORDS) {
        struct stored_words part = {.to = to + at * sizeof(*words)};
        part.count = count - at < STORE_WORDS ? count - at : STORE_WORDS;
        memcpy(part.word, words + at, part.count * sizeof(*words));
        outcome = device_cuda_outcome(
            math->device, launch_store(device_cuda_stream(math->device), &part), "store");
    }
    return outcome;
}

static enum outcome advance(struct math *math, uint64_t state)
{
    return device_cuda_outcome(
        math->device, launch_advance(device_cuda_stream(math->device), state), "advance");
}

/* --- recording ---------------------------------------------------------------------------- */

struct recording {
    cudaGraphExec_t graph;
};

static enum outcome record_begin(struct math *math)
{
    cudaStream_t stream = device_cuda_stream(math->device);
    return device_cuda_outcome(
        math->device, (int)cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
}

/* Uploaded at once, so that its memory is taken here and not at the first play. */
static enum outcome record_end(struct math *math, struct recording **recording)
{
    cudaStream_t stream = device_cuda_stream(math->device);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (error == cudaSuccess)
        error = cudaGraphInstantiate(&ready, graph, 0);
    if (error == cudaSuccess)
        error = cudaGraphUpload(ready, stream);
    if (graph)
        cudaGraphDestroy(graph);
    if (error != cudaSuccess) {
        if (ready)
            cudaGraphExecDestroy(ready);
        return device_cuda_outcome(math->device, (int)error, "cudaGraphInstantiate");
    }
    *recording = xmalloc(sizeof(**recording));
    (*recording)->graph = ready;
    return OUTCOME_OK;
}

static enum outcome play(struct math *math, struct recording *recording)
{
    return device_cuda_outcome(
        math->device, (int)cudaGraphLaunch(recording->graph, device_cuda_stream(math->device)),
        "cudaGraphLaunch");
}

static void recording_release(struct math *math, struct recording *recording)
{
    (void)math;
    cudaGraphExecDestroy(recording->graph);
    free(recording);
}

const struct ops_decoder ops_decoder_cuda = {
    .embed = embed,
    .normalise = normalise,
    .project = project,
    .add_bias = add_bias,
    .place = place,
    .attend_prompt = attend_prompt,
    .attend_cache = attend_cache,
    .gate = gate,
    .choose = choose,
    .take_pages = take_pages,
    .copy_rows = copy_rows,
    .store = store,
    .advance = advance,
    .record_begin = record_begin,
    .record_end = record_end,
    .play = play,
    .recording_release = recording_release,
};
