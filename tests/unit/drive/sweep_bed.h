/* Studies whose launches are stood in for (tests/stand_in.c), swept in this process. */
#ifndef TESTS_UNIT_SWEEP_BED_H
#define TESTS_UNIT_SWEEP_BED_H

#include "harness/base/json.h"
#include "harness/drive/sweep.h"
#include "tests/unit/table_bed.h"

/* Lines of [study] may follow. */
static const char head[] =
    "[launch]\nallow_root = yes\n[device]\nbackend = simulated\ncapacity = 64MiB\n"
    "[point]\ncontext = 8\nwidth = 64\ndtype = float32\nwarmup = 0\nrepeats = 1\n"
    "[study]\nname = cut\nquestion = test\nworkload = dense\n";

static inline int enter(void **state)
{
    setenv("HIGHWATER_TEST_INSTANT", "1", 1);
    return enter_folder(state);
}

/* --- a sweep, in this process --- */

struct swept {
    enum sweep_outcome outcome;
    struct text why, said;
    size_t made;
};

static inline void hear(void *user, const char *message)
{
    struct swept *swept = user;
    text_addf(&swept->said, "%s\n", message);
}

static inline void watch(void *user, const struct sweep_progress *progress)
{
    struct swept *swept = user;
    swept->made = progress->made;
}

static inline struct json *environment(const char *driver)
{
    struct json *made = json_make_object();
    json_set_text(made, "program_version", "1");
    json_set_text(made, "driver_version", driver);
    return made;
}

/* `rest` is put behind the head of the study. */
static inline struct swept sweep_on(const char *rest, const char *folder,
                                    struct sweep_request request, const char *driver)
{
    struct swept swept = {.made = 0};
    struct study study;
    struct text bytes = TEXT_INIT;
    struct json *about = environment(driver);
    text_add(&bytes, head);
    text_add(&bytes, rest);
    if (study_parse("s", &bytes, NULL, 0, &study, &swept.why) != 0)
        fail_msg("%s", text_string(&swept.why));
    request.study = &study;
    request.folder = folder;
    request.environment = about;
    request.say = hear;
    request.progress = watch;
    request.user = &swept;
    swept.outcome = sweep_run(&request, &swept.why);
    study_release(&study);
    json_release(about);
    text_release(&bytes);
    return swept;
}

static inline void forget(struct swept *swept)
{
    text_release(&swept->why);
    text_release(&swept->said);
}

static inline void ends(const char *rest, const char *folder, struct sweep_request request,
                        enum sweep_outcome outcome, size_t made, const char *says)
{
    struct swept swept = sweep_on(rest, folder, request, "a");
    if (swept.outcome != outcome || swept.made != made ||
        (strstr(text_string(&swept.why), says) == NULL &&
         strstr(text_string(&swept.said), says) == NULL))
        fail_msg("outcome %d, %zu runs: %s / %s", swept.outcome, swept.made,
                 text_string(&swept.why), text_string(&swept.said));
    forget(&swept);
}
#define FRESH                                                                                  \
    (struct sweep_request)                                                                     \
    {                                                                                          \
        .resume = false                                                                        \
    }
#define RESUME                                                                                 \
    (struct sweep_request)                                                                     \
    {                                                                                          \
        .resume = true                                                                         \
    }

#endif
