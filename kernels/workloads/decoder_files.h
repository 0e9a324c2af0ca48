/* decoder_files: the files of a model's folder against the network of its config.json, before
 * anything is taken or read.
 */
#ifndef HIGHWATER_KERNELS_WORKLOADS_DECODER_FILES_H
#define HIGHWATER_KERNELS_WORKLOADS_DECODER_FILES_H

#include "harness/model/safetensors.h"
#include "kernels/workloads/decoder.h"

#define DECODER_HEAD "lm_head.weight"

struct decoder_files {
    const struct decoder_options *options;
    const struct model_config *shape;
    struct safetensors set;
    bool there;      /* else weights are generated */
    struct text odd; /* what is to be said though they can be used, a line each */
    /* while they are compared */
    bool *taken; /* of set.tensors: the network has it */
    struct text *faults;
    size_t fault_count;
};
/* `why` has a line for each fault, of many the first. Release it in either case. */
int decoder_files_open(const struct decoder_options *options, const struct model_config *shape,
                       struct decoder_files *files, struct text *why) MUST_CHECK;
void decoder_files_release(struct decoder_files *files);

/* The network has this tensor; features 0: a vector. */
void decoder_files_need(struct decoder_files *files, const char *name, uint64_t rows,
                        uint64_t features);
/* As struct workload says, of its `look`. */
int decoder_look(const struct point *point, const void *options, struct text *notes,
                 struct text *why);
/* Of the contents of the options' model that matter before it runs (workload.h): config.json,
 * the index, and of each shard name, size and header. The numbers themselves are not read. */
int model_fingerprint(const void *options, struct text *out, struct text *why);

#endif
