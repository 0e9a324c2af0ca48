/* one_point: `measure`'s options, and the study of a single point that they make. */
#ifndef HIGHWATER_COMMAND_ONE_POINT_H
#define HIGHWATER_COMMAND_ONE_POINT_H

#include "harness/command/command.h"
#include "harness/study/study.h"

struct one_point {
    char *device, *workload, *capacity, *set, *output;
    bool allow_root;
};
extern const struct option one_point_options[];
/* Dimensions, the point's other settings, allocator settings, every workload's options. */
bool one_point_more(size_t index, struct option_part *part);

/* "3" of cuda:3; NULL when the device is none of cuda's or not well written. */
const char *one_point_cuda_index(const struct one_point *options);
/* The study of this call; -1: reasons, one a line. */
int one_point_study(const struct command_call *call, struct study *study,
                    struct text *why) MUST_CHECK;

#endif
