#include "harness/workload/workload.h"

extern const struct workload workload_decoder, workload_dense;

const struct workload *const workloads[] = {&workload_dense, &workload_decoder, NULL};
