/* Any bytes are a study or a refusal. What is accepted reads back from its frozen form as the
 * same study, and can be listed. Bytes behind a 0xFE are an override. */
#include "harness/plan/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void check_accepted(const struct study *study)
{
    struct study again;
    struct plan plan;
    struct text errors = TEXT_INIT;
    demand(study_parse("F", &study->frozen, NULL, 0, &again, &errors) == 0);
    demand(strcmp(study->hash, again.hash) == 0);
    demand(plan_make(study, 1, &plan, &errors) == 0);
    demand(plan.count > 0);
    plan_release(&plan);
    study_release(&again);
    text_release(&errors);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const unsigned char *mark = memchr(data, 0xFE, size);
    size_t length = mark ? (size_t)(mark - data) : size;
    char *override = mark ? xstrndup((const char *)mark + 1, size - length - 1) : NULL;
    const char *overrides[] = {override};
    struct text bytes = TEXT_INIT, errors = TEXT_INIT;
    struct study study;
    text_add_bytes(&bytes, data, length);
    if (study_parse("F", &bytes, overrides, mark ? 1 : 0, &study, &errors) == 0) {
        check_accepted(&study);
        study_release(&study);
    } else {
        demand(errors.length > 0);
        demand(text_is_utf8(errors.data, errors.length));
    }
    text_release(&bytes);
    text_release(&errors);
    free(override);
    return 0;
}
