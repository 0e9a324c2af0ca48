/* observer_report: what became of a child, judged and written into the shard; for observer.c
 * alone.
 */
#ifndef HIGHWATER_LAUNCH_OBSERVER_REPORT_H
#define HIGHWATER_LAUNCH_OBSERVER_REPORT_H

#include "harness/launch/classify.h"
#include "harness/launch/observer.h"
#include "harness/launch/sampler.h"

/* The child has ended. -1: the shard cannot be written. */
int observer_report(struct observer *observer, const struct ending *ending,
                    const struct sampler *sampler, struct reading wall,
                    struct text *why) MUST_CHECK;
/* There was no child: the closing row alone says why. */
int observer_refuse(struct observer *observer, enum status status, const char *reason,
                    struct text *why) MUST_CHECK;

#endif
