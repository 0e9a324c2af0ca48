#include "kernels/host/host_decoder.h"

/* Steps are not recorded: they run as they come. */
const struct ops_decoder ops_decoder_host = {
    .embed = host_embed,
    .normalise = host_normalise,
    .project = host_project,
    .add_bias = host_add_bias,
    .place = host_place,
    .attend_prompt = host_attend_prompt,
    .attend_cache = host_attend_cache,
    .gate = host_gate,
    .choose = host_choose,
    .take_pages = host_take_pages,
    .copy_rows = host_copy_rows,
    .store = host_store_words,
    .advance = host_advance,
};
