/* plan_view: a plan and its outlook, as text for people and as JSON. */
#ifndef HIGHWATER_COMMAND_PLAN_VIEW_H
#define HIGHWATER_COMMAND_PLAN_VIEW_H

#include "harness/plan/outlook.h"

struct plan_view {
    const struct study *study;
    struct plan plan;
    struct outlook outlook;
    struct text notes; /* of study_look */
};
void plan_view_text(const struct plan_view *view, struct text *out);
void plan_view_json(const struct plan_view *view, struct text *out);

#endif
