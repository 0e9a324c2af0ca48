/* The studies that are shipped, on a simulated card: their meaning and their rows, as they were
 * (tests/golden). A row is told by what differs from the row before it. The launches are stood
 * in for (tests/stand_in.c). */
#include "tests/unit/golden_bed.h"
#include "tests/unit/drive/sweep_bed.h"

/* The sanitizers check the allocator at each step, which the large studies have many of. */
#ifdef __SANITIZE_ADDRESS__
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOW 1
#endif
#endif
#ifndef SLOW
#define SLOW 0
#endif

static const char *const names[] = {
    "decoder-batch", "decoder-width", "dense-batch",  "dense-context", "dense-limit",
    "dense-width",   "kv-context",    "kv-sequences", "quickstart",    "unlike-cards"};
#define NAMES (sizeof names / sizeof names[0])

static const char *const as_shipped[] = {NULL};
static const char *const simulated[] = {"device.backend=simulated", "device.capacity=80GiB",
                                        "launch.allow_root=yes", NULL};
static const char *const otherwise[] = {"device.backend=simulated",
                                        "device.capacity=24GiB, 48GiB",
                                        "launch.allow_root=yes",
                                        "device.overhead=512MiB",
                                        "device.allocator=expandable",
                                        "device.empty_cache=between-phases",
                                        "launch.ranks=2",
                                        "study.phases=both",
                                        "study.trials=2",
                                        "study.after_oom=skip-larger",
                                        "study.seed=11",
                                        "point.dtype=float32",
                                        "point.repeats=1",
                                        NULL};

static void read_shipped(const char *name, const char *const *sets, struct study *study)
{
    char *path = xasprintf("%s/sweeps/%s.ini", TEST_SOURCE, name);
    struct text errors = TEXT_INIT;
    size_t count = 0;
    while (sets[count] != NULL)
        count++;
    if (study_read(path, sets, count, study, &errors) != 0)
        fail_msg("%s", text_string(&errors));
    text_release(&errors);
    free(path);
}

static void add_lines(struct text *out, const struct text *lines)
{
    size_t at = 0, length;
    for (const char *line; (line = text_line(lines, &at, &length)) != NULL;)
        text_addf(out, "  %.*s\n", (int)length, line);
}

/* Of a file that is frozen as it stands nothing is repeated. */
static void add_meaning(const char *name, const char *const *sets, struct text *out)
{
    struct study study;
    struct text canonical = TEXT_INIT, options = TEXT_INIT;
    read_shipped(name, sets, &study);
    text_addf(out, "=== %s%s\nhash %s\n", name, sets[0] != NULL ? " with sets" : "",
              study.hash);
    study_add_options(&study, &options);
    text_addf(out, "options %s\n", text_string(&options));
    text_clear(&options);
    study_add_allocator_settings(&study, &options);
    text_addf(out, "allocator_settings %s\n", text_string(&options));
    study_add_canonical(&study, &canonical);
    text_add(out, "canonical\n");
    add_lines(out, &canonical);
    if (sets[0] != NULL) {
        text_add(out, "frozen\n");
        add_lines(out, &study.frozen);
    }
    study_release(&study);
    text_release(&canonical);
    text_release(&options);
}

static void meanings(void **state)
{
    (void)state;
    struct text out = TEXT_INIT;
    for (size_t i = 0; i < NAMES; i++) {
        add_meaning(names[i], as_shipped, &out);
        add_meaning(names[i], otherwise, &out);
    }
    golden_check("shipped_meaning.txt", &out);
    text_release(&out);
}

struct telling {
    struct text *out;
    bool whole; /* rows cell by cell; else sums of rows and of columns */
    struct row before;
    char *run; /* whose line was begun */
    uint64_t sum[COLUMNS];
};

/* FNV-1a, 64 bits. */
static uint64_t add_sum(uint64_t sum, const char *bytes)
{
    for (; *bytes != '\0'; bytes++)
        sum = (sum ^ (unsigned char)*bytes) * UINT64_C(0x100000001b3);
    return (sum ^ '\n') * UINT64_C(0x100000001b3);
}

static void tell_sums(struct telling *telling, const struct row *row)
{
    struct text cell = TEXT_INIT;
    const char *run = row_text(row, COLUMN_run);
    uint64_t all = UINT64_C(0xcbf29ce484222325);
    for (int column = 0; column < COLUMNS; column++) {
        if (!golden_tells((enum column)column))
            continue;
        text_clear(&cell);
        row_format_cell(row, (enum column)column, &cell);
        all = add_sum(all, text_string(&cell));
        telling->sum[column] = add_sum(telling->sum[column], text_string(&cell));
    }
    if (telling->run == NULL || strcmp(telling->run, run) != 0) {
        text_addf(telling->out, "%s%s", telling->run != NULL ? "\n" : "", run);
        free(telling->run);
        telling->run = xstrdup(run);
    }
    text_addf(telling->out, " %08x", (unsigned)(all ^ all >> 32));
    text_release(&cell);
}

static bool tell(void *user, const struct row *row, uint64_t end)
{
    struct telling *telling = user;
    (void)end;
    if (telling->whole) {
        text_addf(telling->out, "%s|%llu|%s|", row_text(row, COLUMN_run),
                  (unsigned long long)row_count(row, COLUMN_rank).value,
                  row_text(row, COLUMN_phase));
        golden_add_row(&telling->before, row, telling->out);
    } else {
        tell_sums(telling, row);
    }
    return true;
}

/* Rows that differ have another sum, columns in which they do as well. */
static void end_telling(struct telling *telling)
{
    if (!telling->whole)
        text_add_char(telling->out, '\n');
    for (int column = 0; column < COLUMNS && !telling->whole; column++)
        if (golden_tells((enum column)column))
            text_addf(telling->out, "column %s %016llx\n", column_facts[column].name,
                      (unsigned long long)telling->sum[column]);
    row_release(&telling->before);
    free(telling->run);
}

/* Swept in this process into a folder of its own. */
static void add_rows(const char *name, bool whole, const char *const *sets, struct text *out)
{
    struct study study;
    struct text why = TEXT_INIT;
    struct json *about = environment("a");
    struct swept swept = {.made = 0};
    struct table_reading reading;
    struct telling telling = {.out = out, .whole = whole, .before = ROW_INIT};
    read_shipped(name, sets, &study);
    const struct sweep_request request = {.study = &study,
                                          .folder = "swept",
                                          .environment = about,
                                          .say = hear,
                                          .progress = watch,
                                          .user = &swept};
    enum sweep_outcome outcome = sweep_run(&request, &why);
    if (outcome != SWEEP_DONE && outcome != SWEEP_ALL_FAILED)
        fail_msg("%s: %s", name, text_string(&why));
    text_addf(out, "=== %s, %zu runs, outcome %d\n", name, swept.made, outcome);
    assert_int_equal(table_read("swept/rows.csv", false, tell, &telling, &reading, &why), 0);
    assert_false(reading.torn);
    assert_int_equal(folder_remove("swept", &why), 0);
    text_release(&reading.reason);
    end_telling(&telling);
    forget(&swept);
    json_release(about);
    study_release(&study);
    text_release(&why);
}

/* Small studies of either workload are told whole, all of them by sums. */
static void small_rows(void **state)
{
    static const char *const small[] = {"quickstart", "unlike-cards", "decoder-width"};
    (void)state;
    struct text out = TEXT_INIT;
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        add_rows(small[i], true, simulated, &out);
    golden_check("shipped_rows.txt", &out);
    text_release(&out);
}

static void all_rows(void **state)
{
    (void)state;
    if (SLOW)
        skip();
    struct text out = TEXT_INIT;
    for (size_t i = 0; i < NAMES; i++)
        add_rows(names[i], false, simulated, &out);
    golden_check("shipped_sums.txt", &out);
    text_release(&out);
}

static void rows_otherwise(void **state)
{
    (void)state;
    if (SLOW)
        skip();
    struct text out = TEXT_INIT;
    for (size_t i = 0; i < NAMES; i++)
        add_rows(names[i], false, otherwise, &out);
    golden_check("shipped_otherwise.txt", &out);
    text_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meanings),
        cmocka_unit_test(small_rows),
        cmocka_unit_test(all_rows),
        cmocka_unit_test(rows_otherwise),
    };
    return cmocka_run_group_tests(tests, enter, leave_folder);
}
