/* observer_report: what became of a child, judged and written into the shard; for observer.c
 * alone.
 */
#ifndef HIGHWATER_OBSERVE_OBSERVER_REPORT_H
#define HIGHWATER_OBSERVE_OBSERVER_REPORT_H

#include "harness/observe/observer.h"
#include "harness/observe/sampler.h"
#include "harness/verdict/classify.h"

/* The child has ended. -1: the shard cannot be written. */
int observer_report(struct observer *observer, const struct ending *ending,
                    const struct sampler *sampler, struct reading wall,
                    struct text *why) MUST_CHECK;
/* There was no child: the closing row alone says why, in the words of observer->refusal. */
int observer_refuse(struct observer *observer, enum rule rule, struct text *why) MUST_CHECK;

#endif
