#include "kernels/host/host_ops.h"
#include "kernels/ops_decoder.h"

#include <string.h>

static void facts(struct ops_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    strcpy(facts->backend, "reference");
}

static enum outcome open_nothing(struct math *math)
{
    (void)math;
    return OUTCOME_OK;
}

static void close_nothing(struct math *math)
{
    (void)math;
}

const struct ops ops_host = {
    .facts = facts,
    .open = open_nothing,
    .close = close_nothing,
    .fill_normal = host_fill_normal,
    .multiply = host_multiply,
    .bias_gelu = host_bias_gelu,
    .mean_square = host_mean_square,
    .decoder = &ops_decoder_host,
};
