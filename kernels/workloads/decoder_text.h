/* decoder_text: tokens in and out: prompts, the answer, and one number that stands for all
 * tokens.
 */
#ifndef HIGHWATER_KERNELS_WORKLOADS_DECODER_TEXT_H
#define HIGHWATER_KERNELS_WORKLOADS_DECODER_TEXT_H

#include "kernels/workloads/decoder.h"

void decoder_prompts(struct decoder *decoder);
void decoder_answer(struct decoder *decoder); /* writes the file asked for, if one was */
/* A hash of all tokens: equal tokens have equal digests on any device. */
double decoder_digest(struct decoder *decoder);

#endif
