/* What becomes of a child, for every way to end and everything that it may have said: statuses,
 * causes and warnings as they were (tests/golden/verdict_*.txt), and the rows made of them. */
#include "harness/verdict/child_rows.h"
#include "tests/unit/golden_bed.h"
#include "tests/unit/verdict/verdict_bed.h"

#include <signal.h>
#include <stdio.h>

#define EXIT(code) ((code) << 8)
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* --- the inputs ----------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    enum ended_by by;
} by_whom[] = {
    {"itself", ENDED_BY_ITSELF}, {"timeout", ENDED_BY_TIMEOUT}, {"stop", ENDED_BY_STOP}};

static const struct {
    const char *name;
    struct ending ending;
} ends[] = {
    {"not reaped", {.reaped = false}},
    {"exit 0", {.reaped = true}},
    {"exit 1", {.reaped = true, .wait_status = EXIT(1)}},
    {"signal 9", {.reaped = true, .wait_status = SIGKILL}},
    {"signal 9, host", {.reaped = true, .wait_status = SIGKILL, .host_killed = true}},
    {"signal 11", {.reaped = true, .wait_status = SIGSEGV}},
    {"signal 11, host", {.reaped = true, .wait_status = SIGSEGV, .host_killed = true}},
    {"exit 1, host", {.reaped = true, .wait_status = EXIT(1), .host_killed = true}},
};

#define LONG "word word word word word word word word word word word word word word word word "
static const struct {
    const char *name, *words;
} last_words[] = {
    {"none", ""},
    {"blank", " \n\t\n"},
    {"plain", "boo\n"},
    {"error", "error: boo\nand more\n"},
    {"device", "a line\nCUDA out of memory\n"},
    {"device, other", "CUDA out of memory\nerror: later\n"},
    {"other, device", "error: before\nCUDA out of memory\n"},
    {"device, other, device", "out of memory 1\nerror: between\nout of memory 2\n"},
    {"host", "std::bad_alloc\n"},
    {"surely host", "CUDA error: out of memory in pinned memory\n"},
    {"host, device", "MemoryError\nRESOURCE_EXHAUSTED\n"},
    {"device, host", "failed to allocate\nCannot allocate memory\n"},
    {"suspect", "CUBLAS_STATUS_ALLOC_FAILED\n"},
    {"suspect, host", "CUDNN_STATUS_NOT_INITIALIZED\nhost memory\n"},
    {"suspect, other", "CUBLAS_STATUS_NOT_INITIALIZED\nfatal: later\n"},
    {"long", LONG LONG "\nfatal: in the middle\n" LONG LONG LONG LONG "\nlast line\n"},
};

struct said_row {
    int status;            /* 0: none; else the status and one */
    bool partial, outside; /* outside: of no phase */
};
struct said {
    const char *name;
    bool hello, bye, failed;
    size_t count;
    struct said_row rows[2];
    size_t bad_lines;
    const char *dropped;
    bool bad_status;
    enum status status_given;
};
#define S(name) {.status = STATUS_##name + 1}
static const struct said saids[] = {
    {"silent", .hello = false},
    {"hello", .hello = true},
    {"hello/bye", .hello = true, .bye = true},
    {"bye", .bye = true},
    {"phase", .hello = true, .count = 1, .rows = {S(ok)}},
    {"phase/bye", .hello = true, .bye = true, .count = 1, .rows = {S(ok)}},
    {"phase/bye without hello", .bye = true, .count = 1, .rows = {S(ok)}},
    {"cut", .hello = true, .count = 2, .rows = {S(ok), {.partial = true}}},
    {"cut/bye", .hello = true, .bye = true, .count = 1, .rows = {{.partial = true}}},
    {"fail without status", .failed = true, .count = 2,
     .rows = {S(ok), {.partial = true}}},
    {"fail without row", .hello = true, .failed = true},
    {"fail outside", .failed = true, .count = 2,
     .rows = {S(ok), {.status = STATUS_oom + 1, .outside = true}}},
    {"fail outside without status", .failed = true, .count = 1, .rows = {{.outside = true}}},
    {"adapted/ok/bye", .hello = true, .bye = true, .count = 2, .rows = {S(adapted), S(ok)}},
    {"adapted/cut", .hello = true, .count = 2, .rows = {S(adapted), {.partial = true}}},
    {"adapted/fail oom", .failed = true, .count = 2, .rows = {S(adapted), S(oom)}},
    {"oom/error/bye", .hello = true, .bye = true, .count = 2, .rows = {S(oom), S(error)}},
    {"error/fail oom", .failed = true, .count = 2, .rows = {S(error), S(oom)}},
    {"bad lines/bye", .hello = true, .bye = true, .bad_lines = 3},
    {"dropped/bye", .hello = true, .bye = true, .dropped = "fits"},
    {"bad status/bye", .hello = true, .bye = true, .bad_status = true,
     .status_given = STATUS_timeout},
    {"all that is bad", .bad_lines = 1, .dropped = "rank", .bad_status = true,
     .status_given = STATUS_skipped},
};
/* Behind them: each status of a phase that ended, and of one that failed. */
#define SAIDS (COUNT_OF(saids) + 2 * (size_t)STATUSES)

static struct said said_at(size_t index, char name[40])
{
    if (index < COUNT_OF(saids)) {
        snprintf(name, 40, "%s", saids[index].name);
        return saids[index];
    }
    size_t status = (index - COUNT_OF(saids)) / 2, failed = (index - COUNT_OF(saids)) % 2;
    snprintf(name, 40, "%s %s", failed ? "fail" : "end", status_facts[status].name);
    return (struct said){.hello = true,
                         .bye = !failed,
                         .failed = failed,
                         .count = 2,
                         .rows = {S(ok), {(int)status + 1, .partial = failed}}};
}

static void make_record(const struct said *said, struct row rows[2],
                        struct phase_record *record)
{
    for (size_t i = 0; i < said->count; i++) {
        const struct said_row *from = &said->rows[i];
        rows[i] = (struct row)ROW_INIT;
        if (!from->outside)
            row_set_text(&rows[i], COLUMN_phase, i == 0 ? "context" : "libraries");
        if (from->status > 0)
            row_set_status(&rows[i], (enum status)(from->status - 1));
        if (from->partial)
            row_set_text(&rows[i], COLUMN_partial, "yes");
        if (from->status > 0 && from->status != STATUS_ok + 1) {
            row_set_text(&rows[i], COLUMN_error, i == 0 ? "first own words" : "own words");
            row_set_text(&rows[i], COLUMN_refused_by, "limit");
            row_set_count(&rows[i], COLUMN_refused_bytes, 4096 + i);
            row_set_count(&rows[i], COLUMN_free_bytes_at_failure, 7);
        }
    }
    *record = (struct phase_record){.hello = ROW_INIT,
                                    .said_hello = said->hello,
                                    .said_bye = said->bye,
                                    .failed = said->failed,
                                    .rows = rows,
                                    .count = said->count,
                                    .bad_lines = said->bad_lines,
                                    .dropped = said->dropped,
                                    .bad_status = said->bad_status,
                                    .status_given = (int)said->status_given};
}

/* --- the verdicts --------------------------------------------------------------------------
 */

static const char *const why_unread = "no\tfile";
static struct verdict judge(const struct ending *ending, const struct phase_record *record,
                            const char *words)
{
    struct text said = TEXT_INIT;
    struct verdict verdict;
    text_add(&said, words);
    classify(&(struct child_facts){.record = record, .words = &said, .ending = ending},
             &verdict);
    text_release(&said);
    return verdict;
}

static void forget(struct verdict *verdict)
{
    text_release(&verdict->error);
    text_release(&verdict->warning);
}

/* Last words x its phase file unread x device lost x phases expected. */
static void add_statuses(struct ending ending, const struct phase_record *record,
                         struct text *out)
{
    struct letters letters = LETTERS_INIT;
    for (size_t w = 0; w < COUNT_OF(last_words); w++) {
        for (int bits = 0; bits < 8; bits++) {
            ending.unread = bits & 4 ? why_unread : NULL;
            ending.device_lost = bits & 2;
            ending.speaks_phases = bits & 1;
            struct verdict verdict = judge(&ending, record, last_words[w].words);
            letters_add(&letters, verdict.status, verdict.refused_by, out);
            forget(&verdict);
        }
        letters_end(&letters, out);
    }
}

/* One line a text: where it is said, of last words x unread x phases expected. */
static void add_errors(struct ending ending, const struct phase_record *record,
                       const char *name, struct kinds *kinds)
{
    struct kinds texts = {.count = 0};
    char place[8];
    for (size_t w = 0; w < COUNT_OF(last_words); w++)
        for (int bits = 0; bits < 4; bits++) {
            ending.unread = bits & 2 ? why_unread : NULL;
            ending.speaks_phases = bits & 1;
            struct verdict verdict = judge(&ending, record, last_words[w].words);
            snprintf(place, sizeof place, "%zu%c", w, "abcd"[bits]);
            kinds_add(&texts, text_string(&verdict.error), place);
            forget(&verdict);
        }
    kinds_nest(&texts, COUNT_OF(last_words) * 4, name, kinds);
}

/* Likewise of left over x unread x device lost. */
static void add_warnings(struct ending ending, const struct phase_record *record,
                         const char *name, struct kinds *kinds)
{
    static const int left[] = {0, 1, 2, -1};
    struct kinds texts = {.count = 0};
    char place[8];
    for (size_t l = 0; l < COUNT_OF(left); l++)
        for (int bits = 0; bits < 4; bits++) {
            ending.left_over = left[l];
            ending.unread = bits & 2 ? why_unread : NULL;
            ending.device_lost = bits & 1;
            struct verdict verdict = judge(&ending, record, "boo");
            snprintf(place, sizeof place, "%d%c", left[l], "abcd"[bits]);
            kinds_add(&texts, text_string(&verdict.warning), place);
            forget(&verdict);
        }
    kinds_nest(&texts, COUNT_OF(left) * 4, name, kinds);
}

enum table { STATUS_TABLE, ERROR_TABLE, WARNING_TABLE };

static void add_table(enum table which, const char *by, const char *end,
                      const struct ending *ending, struct text *out)
{
    struct kinds kinds = {.count = 0};
    for (size_t i = 0; i < SAIDS; i++) {
        char name[40];
        struct row rows[2];
        struct phase_record record;
        const struct said said = said_at(i, name);
        make_record(&said, rows, &record);
        struct text key = TEXT_INIT;
        if (which == STATUS_TABLE) {
            add_statuses(*ending, &record, &key);
            kinds_add(&kinds, text_string(&key), name);
        } else if (which == ERROR_TABLE) {
            add_errors(*ending, &record, name, &kinds);
        } else {
            add_warnings(*ending, &record, name, &kinds);
        }
        text_release(&key);
        for (size_t r = 0; r < said.count; r++)
            row_release(&rows[r]);
    }
    text_addf(out, "=== by %s, %s\n", by, end);
    kinds_write(&kinds, out);
}

static void check_table(enum table which, const char *name, const char *head)
{
    struct text out = TEXT_INIT;
    text_add(&out, head);
    for (size_t w = 0; w < COUNT_OF(last_words) && which != WARNING_TABLE; w++)
        text_addf(&out, "# last words %zu: %s\n", w, last_words[w].name);
    for (size_t b = 0; b < COUNT_OF(by_whom); b++)
        for (size_t e = 0; e < COUNT_OF(ends); e++) {
            struct ending ending = ends[e].ending;
            if (which == WARNING_TABLE && (by_whom[b].by == ENDED_BY_STOP || e > 3))
                continue; /* warnings are the same there */
            ending.by = by_whom[b].by;
            add_table(which, by_whom[b].name, ends[e].name, &ending, &out);
        }
    golden_check(name, &out);
    text_release(&out);
}

static void statuses(void **state)
{
    (void)state;
    check_table(
        STATUS_TABLE, "verdict_status.txt",
        "# The status of a child. For each end: what the child said, and a field for each\n"
        "# of the last words below: its phase file unread (no, yes) x the device lost x\n"
        "# phases expected, 8 letters, as runs.\n"
        "# " LETTERS_LEGEND "\n");
}

static void errors(void **state)
{
    (void)state;
    check_table(
        ERROR_TABLE, "verdict_error.txt",
        "# The cause that is told of a child. For each end: what the child said, and for\n"
        "# each text where it is said: number of the last words, a: no more, b: phases\n"
        "# expected, c: its phase file unread, d: both.\n");
}

static void warnings(void **state)
{
    (void)state;
    check_table(
        WARNING_TABLE, "verdict_warning.txt",
        "# The warning that is told of a child. For each end: what the child said, and for\n"
        "# each text where it is said: processes left over, a: no more, b: the device\n"
        "# lost, c: its phase file unread, d: both.\n");
}

static const char *const words_of_all_kinds[] = {
    "CPUAllocator",
    "host memory",
    "MallocHost",
    "HostAlloc",
    "pinned memory",
    "std::bad_alloc",
    "MemoryError",
    "Cannot allocate memory",
    "can't allocate memory",
    "Unable to allocate",
    "out of memory",
    "OUT_OF_MEMORY",
    "OutOfMemory",
    "cudaErrorMemoryAllocation",
    "RESOURCE_EXHAUSTED",
    "failed to allocate",
    "CUBLAS_STATUS_NOT_INITIALIZED",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_NOT_INITIALIZED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "error",
    "fail",
    "exception",
    "abort",
    "fatal",
    "panic",
    "illegal",
    "fault",
    "memory",
    "oom",
    "Killed",
    "cannot allocate memory",
    "CUDA error: an illegal memory access was encountered"};

/* Each word alone, and with another error behind it. */
static void single_words(void **state)
{
    static const struct phase_record silent = {.hello = ROW_INIT};
    const struct ending ending = {.reaped = true, .wait_status = EXIT(1)};
    struct text out = TEXT_INIT;
    (void)state;
    text_add(&out,
             "# What a word at the end of standard error says, alone, before and behind an\n"
             "# error, in capitals.\n");
    for (size_t i = 0; i < COUNT_OF(words_of_all_kinds); i++) {
        const char *word = words_of_all_kinds[i];
        char *forms[] = {xstrdup(word), xasprintf("x %s y\nERROR z\n", word),
                         xasprintf("ERROR z\nx %s y\n", word), xstrdup(word)};
        for (char *c = forms[3]; *c != '\0'; c++)
            *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
        text_addf(&out, "%s:", word);
        for (size_t f = 0; f < COUNT_OF(forms); f++) {
            struct verdict verdict = judge(&ending, &silent, forms[f]);
            text_addf(&out, " %s", status_facts[verdict.status].name);
            forget(&verdict);
            free(forms[f]);
        }
        text_add_char(&out, '\n');
    }
    golden_check("verdict_words.txt", &out);
    text_release(&out);
}

/* --- rows ----------------------------------------------------------------------------------
 */

static void add_observed(const char *title, const struct child_facts *facts,
                         const struct verdict *verdict, struct text *out)
{
    struct child_rows made;
    child_rows_of(facts, verdict, &made);
    text_addf(out, "%s:", title);
    for (size_t i = 0; i < made.count; i++)
        add_row_of_verdict(&made.rows[i], out);
    text_add_char(out, '\n');
    child_rows_release(&made);
}

static void add_rows_of(const struct said *said, const char *name, struct text *out)
{
    static const enum status given[] = {STATUS_ok, STATUS_oom, STATUS_crashed};
    struct row rows[2], about = ROW_INIT;
    struct phase_record record;
    make_record(said, rows, &record);
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        struct verdict verdict = {.status = given[i]};
        char *title = xasprintf("%s, %s", name, status_facts[given[i]].name);
        if (given[i] != STATUS_ok) {
            text_add(&verdict.error, "E");
            text_add(&verdict.warning, "W");
        }
        if (given[i] == STATUS_oom)
            verdict.refused_by = "message";
        const struct child_facts facts = {.about = &about, .record = &record};
        add_observed(title, &facts, &verdict, out);
        free(title);
        forget(&verdict);
    }
    for (size_t i = 0; i < said->count; i++)
        row_release(&rows[i]);
}

/* Peaks beside what the device has, as the child or as the card says it. */
static char letter_of_spill(enum status given, int capacity, int peak)
{
    struct row rows[2] = {ROW_INIT, ROW_INIT}, about = ROW_INIT;
    struct phase_record record = {.hello = ROW_INIT, .rows = rows, .count = 2};
    struct verdict verdict = {.status = given};
    struct child_rows made;
    static const uint64_t peaks[][2] = {{0, 0},   {99, 99}, {100, 100},
                                        {101, 0}, {0, 101}, {99, 101}};
    for (size_t i = 0; i < 2; i++) {
        row_set_text(&rows[i], COLUMN_phase, i == 0 ? "context" : "libraries");
        row_set_status(&rows[i], STATUS_ok);
    }
    if (capacity & 1)
        row_set_count(&rows[0], COLUMN_device_capacity_bytes, 100);
    if (peaks[peak][0] > 0)
        row_set_count(&rows[peak % 2], COLUMN_allocated_peak_bytes, peaks[peak][0]);
    if (peaks[peak][1] > 0)
        row_set_count(&rows[1], COLUMN_reserved_peak_bytes, peaks[peak][1]);
    const struct child_facts facts = {.about = &about,
                                      .record = &record,
                                      .card.total =
                                          capacity & 2 ? reading_of(100) : reading_missing()};
    child_rows_of(&facts, &verdict, &made);
    char letter = status_letter((enum status)row_status(&made.rows[made.count - 1]));
    child_rows_release(&made);
    row_release(&rows[0]);
    row_release(&rows[1]);
    return letter;
}

static void add_spills(struct text *out)
{
    text_add(out, "=== capacity unknown, told by the child, by the card, by both x 6 peaks\n");
    for (int status = 0; status < STATUSES; status++) {
        text_addf(out, "%s ", status_facts[status].name);
        for (int capacity = 0; capacity < 4; capacity++) {
            text_add_char(out, ' ');
            for (int peak = 0; peak < 6; peak++)
                text_add_char(out, letter_of_spill((enum status)status, capacity, peak));
        }
        text_add_char(out, '\n');
    }
}

static void rows_of_verdicts(void **state)
{
    struct text out = TEXT_INIT;
    struct row about = ROW_INIT;
    const struct phase_record silent = {.hello = ROW_INIT};
    const struct verdict verdict = {.status = STATUS_error};
    (void)state;
    text_add(&out,
             "# The rows made of what a child said and of a verdict, \"W\", \"E\" its texts.\n"
             "# " ROW_OF_VERDICT_LEGEND "\n");
    for (size_t i = 0; i < SAIDS; i++) {
        char name[40];
        const struct said said = said_at(i, name);
        add_rows_of(&said, name, &out);
    }
    add_spills(&out);
    text_add(&out, "=== endings\n");
    for (size_t e = 0; e < COUNT_OF(ends); e++)
        add_observed(ends[e].name,
                     &(struct child_facts){
                         .about = &about, .record = &silent, .ending = &ends[e].ending},
                     &verdict, &out);
    add_observed("nobody saw it", &(struct child_facts){.about = &about, .record = &silent},
                 &verdict, &out);
    golden_check("verdict_rows.txt", &out);
    text_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses),         cmocka_unit_test(errors),
        cmocka_unit_test(warnings),         cmocka_unit_test(single_words),
        cmocka_unit_test(rows_of_verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
