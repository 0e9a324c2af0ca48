#include "harness/drive/resume.h"
#include "harness/base/file.h"
#include "harness/base/json.h"
#include "harness/study/compare.h"
#include "harness/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST (64u << 20) /* bytes of a study or environment that is still read */

int resume_retry_words(const char *words, uint32_t *statuses, struct text *why)
{
    uint32_t found = 0;
    while (*words != '\0') {
        size_t length = strcspn(words, ",");
        char *word = xstrndup(words, length);
        int status = status_find(word);
        if (status < 0) {
            const char *names[STATUSES + 1] = {NULL};
            for (int i = 0; i < STATUSES; i++)
                names[i] = status_facts[i].name;
            const char *nearest = text_nearest(word, names);
            text_addf(why, "retry: \"%s\" is no status", word);
            if (nearest)
                text_addf(why, "; did you mean \"%s\"?", nearest);
        }
        free(word);
        if (status < 0)
            return -1;
        found |= 1u << status;
        words += length + (words[length] == ',');
    }
    *statuses = found;
    return 0;
}

static int read_frozen(const char *path, struct study *frozen, struct text *why)
{
    struct text bytes = TEXT_INIT, errors = TEXT_INIT;
    int result = file_read(path, LONGEST, &bytes, why);
    if (result == 0 && study_parse(path, &bytes, NULL, 0, frozen, &errors) != 0) {
        text_addf(why, "the frozen study is refused:\n%s", text_string(&errors));
        result = -1;
    }
    text_release(&bytes);
    text_release(&errors);
    return result;
}

int resume_open(struct resume *resume, const char *folder, const struct study *study,
                uint32_t retry, struct text *why)
{
    char *path = xasprintf("%s/study.ini", folder);
    struct study frozen;
    *resume = (struct resume){.retry = retry | RUNS_MADE_AGAIN};
    int result = read_frozen(path, &frozen, why);
    if (result == 0) {
        enum study_change change = study_compare(&frozen, study, &resume->changes);
        resume->changed = change == STUDY_GROWN;
        if (study->timeout_ns > frozen.timeout_ns)
            resume->retry |= 1u << STATUS_timeout;
        if (change == STUDY_OTHER) {
            text_addf(why,
                      "the study differs from %s, which its rows were made with (that file "
                      "may be resumed itself):\n%s",
                      path, text_string(&resume->changes));
            result = -1;
        }
        study_release(&frozen);
    }
    plan_describe_study(study, &resume->ours);
    row_clear(&resume->ours, COLUMN_study_hash); /* another one when the study has grown */
    row_set_count(&resume->ours, COLUMN_schema, ROW_SCHEMA);
    free(path);
    return result;
}

void resume_close(struct resume *resume)
{
    run_set_release(&resume->done);
    text_release(&resume->changes);
    row_release(&resume->ours);
}

/* --- the machine --- */

/* False: the document does not tell it. */
static bool add_value(const struct json *document, const char *key, struct text *out)
{
    const struct json *value = json_get(document, key);
    if (value == NULL || json_is_null(value))
        return false;
    json_write(value, out);
    if (out->data[out->length - 1] == '\n')
        out->data[--out->length] = '\0';
    return true;
}

/* What one side does not know is no difference. */
static void compare_key(const struct json *old, const struct json *now, const char *key,
                        struct text *difference)
{
    struct text a = TEXT_INIT, b = TEXT_INIT;
    bool known = add_value(old, key, &a) && add_value(now, key, &b);
    if (known && strcmp(text_string(&a), text_string(&b)) != 0)
        text_addf(difference, "%s: %s is now %s\n", key, text_string(&a), text_string(&b));
    text_release(&a);
    text_release(&b);
}

int resume_check_machine(const char *folder, const struct json *environment, struct text *why)
{
    static const char *const keys[] = {
        "program_version", "program_build", "driver_version", "mpi", "workload", "files"};
    char *path = xasprintf("%s/environment.json", folder);
    struct text bytes = TEXT_INIT, difference = TEXT_INIT;
    struct json *old = NULL;
    int result = file_read(path, LONGEST, &bytes, why);
    if (result == 0 && json_parse(text_string(&bytes), bytes.length, &old, why) != 0) {
        text_addf(why, " in %s", path);
        result = -1;
    }
    for (size_t i = 0; result == 0 && i < sizeof keys / sizeof keys[0]; i++)
        compare_key(old, environment, keys[i], &difference);
    if (difference.length > 0) {
        text_addf(why, "the rows in %s were made by others:\n%s", folder,
                  text_string(&difference));
        result = -1;
    }
    json_release(old);
    text_release(&difference);
    text_release(&bytes);
    free(path);
    return result;
}

/* Whether it fitted follows from how it ended; an empty cell says nothing. */
static void check_fits(const struct row *closing, struct text *otherwise)
{
    const char *fits = row_text(closing, COLUMN_fits);
    struct row follows = ROW_INIT;
    row_set_text(&follows, COLUMN_phase, row_text(closing, COLUMN_phase));
    row_set_status(&follows, (enum status)row_status(closing));
    const char *should = row_text(&follows, COLUMN_fits);
    if (otherwise->length == 0 && fits != NULL && (should == NULL || strcmp(fits, should) != 0))
        text_addf(otherwise, "fits is %s, should be %s: status is %s", fits,
                  should != NULL ? should : "empty", row_text(closing, COLUMN_status));
    row_release(&follows);
}

int resume_check_rows(const struct resume *resume, const struct study *study,
                      const struct row *closing, size_t ranks, struct text *why)
{
    struct text otherwise = TEXT_INIT;
    struct plan_run run;
    for (size_t i = 0; i < ranks; i++) {
        struct row row = ROW_INIT;
        bool known = plan_run_told(study, &closing[i], &run);
        row_copy(&row, &closing[i]);
        plan_correct(&resume->ours, known ? &run : NULL, &row, &otherwise);
        if (!known && otherwise.length == 0)
            text_add(&otherwise,
                     "it has no run of their role, dimension, value, input and trial");
        check_fits(&row, &otherwise);
        row_release(&row);
    }
    int result = otherwise.length > 0 ? -1 : 0;
    if (result != 0)
        text_addf(why, "rows.csv: the rows of %s are not of this study: %s",
                  row_text(&closing[0], COLUMN_run), text_string(&otherwise));
    text_release(&otherwise);
    return result;
}

int resume_check_devices(const struct placement *all, const struct row *closing, size_t ranks,
                         struct text *why)
{
    uint64_t place = plan_place(&closing[0]);
    if (place > all->ranks)
        return text_fail(why, "%s: the rows are of %llu devices, there are %llu now",
                         row_text(&closing[0], COLUMN_run), (unsigned long long)place,
                         (unsigned long long)all->ranks);
    const struct placement mine = placement_of_run(all, place), *placement = &mine;
    if (ranks != placement->ranks)
        return text_fail(why, "the rows are of %zu ranks, there are %llu now", ranks,
                         (unsigned long long)placement->ranks);
    for (size_t i = 0; i < ranks; i++) {
        const char *was = row_text(&closing[i], COLUMN_device_name);
        struct reading rank = row_count(&closing[i], COLUMN_rank);
        if (was == NULL || !rank.known || rank.value >= placement->ranks)
            continue;
        const struct seat *seat = &placement->seats[rank.value];
        const char *is = seat->card.name;
        if (!seat_has_card(seat) || strcmp(was, is) == 0)
            continue;
        return text_fail(why, "%s %llu: the rows are of a device %s, there is %s now",
                         place > 0 ? "device" : "rank",
                         (unsigned long long)(place > 0 ? place : rank.value), was, is);
    }
    return 0;
}

bool resume_is_done(const struct resume *resume, const char *run)
{
    const struct run_record *record = run_set_find(&resume->done, run);
    return record != NULL && (record->statuses & resume->retry) == 0;
}
