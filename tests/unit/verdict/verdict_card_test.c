/* What the card has to say: whether a run may begin on it, what it and the other ranks change
 * in a verdict, which cards a study gets; as it was (tests/golden/verdict_card*.txt). On
 * scripted cards (tests/mpi/helpers/fake_nvml.c), beside a workload program that says what it
 * is told to: the test copies itself into a folder of its own and goes on there. */
#include "harness/observe/observer_report.h"
#include "harness/drive/admission.h"
#include "harness/protocol/shard.h"
#include "tests/unit/golden_bed.h"
#include "tests/unit/table_bed.h"
#include "tests/unit/verdict/verdict_bed.h"

#include <signal.h>

#define EXIT(code) ((code) << 8)
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define FOLDER_VARIABLE "VERDICT_CARD_FOLDER"
#define GIB (UINT64_C(1) << 30)
#define A "GPU-aaaa-1"
#define B "GPU-bbbb-2"
#define C "GPU-cccc-3"

/* The scripted machine: these lines. */
static void set_machine(const char *lines)
{
    write_file("machine", lines, strlen(lines));
}

static void add_reading(struct text *out, const char *name, struct reading reading)
{
    if (reading.known)
        text_addf(out, " %s=%llu", name, (unsigned long long)reading.value);
    else
        text_addf(out, " %s=-", name);
}

/* --- before the child ----------------------------------------------------------------------
 */

static const char *const state_names[] = {[CARD_READY] = "ready",
                                          [CARD_DIRTY] = "dirty",
                                          [CARD_LOST] = "lost",
                                          [CARD_INTERRUPTED] = "interrupted"};

static void add_settled(const char *lines, struct reading baseline, bool trusts, bool signalled,
                        struct text *out)
{
    struct card card;
    struct watch watch;
    struct text why = TEXT_INIT;
    set_machine("card " A " 0000:01:00.0 H100 85899345920 1000 0\n");
    assert_int_equal(card_open(&card, &(struct seat){.card.uuid = A}, &why), 0);
    assert_int_equal(watch_open(&watch, &why), 0);
    card.trusts_pids = trusts;
    set_machine(lines);
    if (signalled)
        raise(SIGTERM);
    enum card_state state =
        card_settle(&card, baseline, signalled ? UINT64_C(3600000000000) : 0, &watch, &why);
    text_addf(out, "%s%s", state_names[state], card.lost ? " card_lost" : "");
    add_reading(out, "total", card.before.total);
    add_reading(out, "reserved", card.before.reserved);
    add_reading(out, "used", card.before.used);
    add_reading(out, "foreign", card.foreign_before);
    text_addf(out, " \"%s\"", text_string(&why));
    watch_close(&watch);
    card_close(&card);
    text_release(&why);
}

static void settles(void **state)
{
    static const uint64_t used[] = {GIB - 1, GIB, GIB + CARD_TOLERANCE,
                                    GIB + CARD_TOLERANCE + 1};
    static const char *const processes[] = {"", "process 0 77 4096\nprocess 0 78 1\n",
                                            "process 0 77 4096\nprocess 0 78 na\n",
                                            "no-processes 9\n", "old-memory\n"};
    struct text out = TEXT_INIT;
    (void)state;
    text_add(
        &out,
        "# May a run begin? With a baseline (missing, or 1 GiB), bytes in use, processes,\n"
        "# and whether their numbers are trusted.\n");
    for (int known = 0; known < 2; known++)
        for (size_t u = 0; u < COUNT_OF(used); u++)
            for (size_t p = 0; p < COUNT_OF(processes); p++)
                for (int trusts = 0; trusts < 2; trusts++) {
                    char *lines =
                        xasprintf("card " A " 0000:01:00.0 H100 85899345920 1000 %llu\n%s",
                                  (unsigned long long)used[u], processes[p]);
                    text_addf(&out, "%s used %zu processes %zu %s: ",
                              known ? "baseline" : "no baseline", u, p,
                              trusts ? "trusted" : "not trusted");
                    add_settled(lines, known ? reading_of(GIB) : reading_missing(), trusts,
                                false, &out);
                    text_add_char(&out, '\n');
                    free(lines);
                }
    static const char *const failures[] = {"fail 15\n", "fail 999\n", ""};
    for (size_t f = 0; f < COUNT_OF(failures); f++) {
        text_addf(&out, "%.*s: ", (int)strcspn(failures[f], "\n"), failures[f]);
        add_settled(failures[f], reading_of(GIB), true, false, &out);
        text_add_char(&out, '\n');
    }
    text_add(&out, "signal: ");
    add_settled("card " A " 0000:01:00.0 H100 85899345920 1000 9999999999\n", reading_of(GIB),
                true, true, &out);
    text_add_char(&out, '\n');
    golden_check("verdict_card_settle.txt", &out);
    text_release(&out);
}

/* --- after it ------------------------------------------------------------------------------
 */

#define WELL "hello\tframework=t\nbegin\tphase=context\nend\tphase=context\tstatus=ok\n"
#define FAIL(status)                                                                           \
    WELL "begin\tphase=libraries\nfail\tphase=libraries\tstatus=" status                       \
         "\terror=own words\trefused_by=device\trefused_bytes=9\n"
static const struct {
    const char *name, *phases, *words;
    struct ending ending;
} ends[] = {
    {"ok", WELL "bye\n", "", {.reaped = true}},
    {"adapted",
     WELL "begin\tphase=b\nend\tphase=b\tstatus=adapted\nbye\n",
     "",
     {.reaped = true}},
    {"oom", FAIL("oom"), "", {.reaped = true, .wait_status = EXIT(3)}},
    {"host_oom", FAIL("host_oom"), "", {.reaped = true, .wait_status = EXIT(3)}},
    {"error", FAIL("error"), "", {.reaped = true, .wait_status = EXIT(3)}},
    {"timeout as status", FAIL("timeout"), "", {.reaped = true, .wait_status = EXIT(3)}},
    {"oom in words", WELL, "CUDA out of memory\n", {.reaped = true, .wait_status = EXIT(1)}},
    {"suspected by words",
     WELL,
     "CUDA out of memory\nerror: later\n",
     {.reaped = true, .wait_status = EXIT(1)}},
    {"suspected",
     WELL,
     "CUBLAS_STATUS_ALLOC_FAILED\n",
     {.reaped = true, .wait_status = EXIT(1)}},
    {"host oom in words", WELL, "MemoryError\n", {.reaped = true, .wait_status = EXIT(1)}},
    {"exit 1", WELL, "boo\n", {.reaped = true, .wait_status = EXIT(1)}},
    {"crashed", WELL, "", {.reaped = true, .wait_status = SIGSEGV}},
    {"killed by the host",
     WELL,
     "",
     {.reaped = true, .wait_status = SIGKILL, .host_killed = true}},
    {"timeout", WELL, "", {.by = ENDED_BY_TIMEOUT, .reaped = true, .wait_status = SIGKILL}},
    {"stopped", WELL, "", {.by = ENDED_BY_STOP, .reaped = true, .wait_status = SIGKILL}},
    {"lost", WELL, "boo\n", {.reaped = true, .wait_status = EXIT(1), .device_lost = true}},
    {"no word", "", "", {.reaped = true, .speaks_phases = true}},
};

struct around {
    bool told, moved, shared, sampled, trusts;
};

/* The closing row of a shard. */
static void add_closing(const char *path, struct text *out)
{
    struct shard shard;
    struct text why = TEXT_INIT;
    assert_int_equal(shard_read(path, &shard, &why), 0);
    assert_true(shard.complete);
    add_row_of_verdict(&shard.rows[shard.count - 1], out);
    shard_release(&shard);
    text_release(&why);
}

static void add_reported(size_t end, struct around around, struct text *out)
{
    struct text why = TEXT_INIT;
    struct sampler sampler = {.last_ns = 0};
    struct observer observer = {.errors = "errors",
                                .phases = "phases",
                                .live = "live",
                                .told_ns = around.told ? 1 : 0,
                                .failed_first = 3};
    const struct seat seat = {.card.uuid = A, .shared = around.shared};
    assert_int_equal(card_open(&observer.card, &seat, &why), 0);
    observer.card.trusts_pids = around.trusts;
    observer.card.before.used = reading_of(GIB);
    observer.card.used_after = reading_of(around.moved ? 2 * GIB : GIB);
    if (around.sampled)
        sampler_take(&sampler, &(struct card_sample){.used = reading_of(5)}, NULL, 1);
    write_file("phases", ends[end].phases, strlen(ends[end].phases));
    write_file("errors", ends[end].words, strlen(ends[end].words));
    observer.shard = shard_create("shard", &why);
    assert_int_equal(line_append(observer.shard, "begin", NULL, &why), 0);
    assert_int_equal(
        observer_report(&observer, &ends[end].ending, &sampler, reading_missing(), &why), 0);
    close(observer.shard);
    text_add(out, observer.failed ? "failed" : "well");
    add_closing("shard", out);
    card_close(&observer.card);
    row_release(&observer.about);
    sampler_release(&sampler);
    text_release(&why);
}

static void reports(void **state)
{
    struct text out = TEXT_INIT;
    (void)state;
    set_machine("card " A " 0000:01:00.0 H100 85899345920 1000 0\n");
    text_add(
        &out,
        "# What peers and the card make of an end: t: a peer has failed, m: use by others\n"
        "# moved, s: the card is shared, x: sampled without a process told, p: process\n"
        "# numbers are trusted. \"failed\": this rank tells its peers.\n"
        "# " ROW_OF_VERDICT_LEGEND "\n");
    for (size_t end = 0; end < COUNT_OF(ends); end++) {
        struct kinds kinds = {.count = 0};
        text_addf(&out, "=== %s\n", ends[end].name);
        for (int bits = 0; bits < 32; bits++) {
            const struct around around = {bits & 1, bits & 2, bits & 4, bits & 8, bits & 16};
            struct text said = TEXT_INIT;
            char *name =
                xasprintf("%s%s%s%s%s%s", around.told ? "t" : "", around.moved ? "m" : "",
                          around.shared ? "s" : "", around.sampled ? "x" : "",
                          around.trusts ? "p" : "", bits == 0 ? "none" : "");
            add_reported(end, around, &said);
            kinds_add(&kinds, text_string(&said), name);
            text_release(&said);
            free(name);
        }
        kinds_write(&kinds, &out);
    }
    golden_check("verdict_card_report.txt", &out);
    text_release(&out);
}

/* Where no child is started. */
static void refusals(void **state)
{
    struct text out = TEXT_INIT, why = TEXT_INIT;
    char nothing[] = "", *child[] = {nothing, NULL};
    struct seat seat = {.shared = false};
    const struct rank_setting setting = {.seats = &seat, .ranks = 1, .fault = nothing};
    (void)state;
    for (int s = CARD_READY; s <= CARD_LOST; s++) {
        struct observer observer = {.setting = &setting,
                                    .child = child,
                                    .program = "/no/such/program",
                                    .errors = "errors",
                                    .phases = "phases",
                                    .live = "live",
                                    .state = (enum card_state)s};
        text_add(&observer.refusal, "what the\tcard said");
        observer.shard = shard_create("shard", &why);
        text_addf(&out, "%s:", state_names[s]);
        assert_int_equal(observer_run(&observer, &why), 0);
        add_closing("shard", &out);
        text_add_char(&out, '\n');
        close(observer.shard);
        row_release(&observer.about);
        text_release(&observer.refusal);
    }
    golden_check("verdict_card_refused.txt", &out);
    text_release(&out);
    text_release(&why);
}

/* --- which cards a study gets --------------------------------------------------------------
 */

#define DEVICES                                                                                \
    "driver 580.1\ncard " A " 0000:01:00.0 H100 85899345920 1000 5\n"                          \
    "card " B " 0000:02:00.0 H100 85899345920 1000 6\n"                                        \
    "card " C " 0000:03:00.0 L4 24000000000 0 7\n"
#define CUDA "{\"backends\": [\"cuda\"], \"device\": {\"context_bytes\": 500}}"
#define CUDA_LESS                                                                              \
    "{\"backends\": [\"cuda\"], \"device\": {\"context_bytes\": 300}}" /* of C   \
                                                                                      */
static const struct {
    const char *name, *study, *machine, *workload;
    const char *visible; /* NULL: unset */
} placed[] = {
    {"simulated", "capacity=1GiB\n", "", "", NULL},
    {"simulated, two", "capacity=1GiB,2GiB\noverhead=1MiB\n[launch]\nranks=2\n", "", "", NULL},
    {"simulated, one for two", "capacity=3GiB\n[launch]\nranks=2\n", "", "", NULL},
    {"simulated, a capacity each", "capacity=1GiB,2GiB,3GiB\n[launch]\nranks=per-device\n", "",
     "", NULL},
    {"simulated, per-device", "capacity=1GiB\n[launch]\nranks=per-device\n", "", "", NULL},
    {"simulated, alone", "capacity=1GiB,2GiB\n[launch]\nranks=2\nplacement=alone\n", "", "",
     NULL},
    {"host, no capacity", "backend=host\n", "", "", NULL},
    {"host", "backend=host\ncapacity=1GiB\n", "", "", NULL},
    {"cuda", "backend=cuda\n", DEVICES, CUDA, NULL},
    {"cuda, per-device", "backend=cuda\n[launch]\nranks=per-device\n", DEVICES, CUDA, NULL},
    {"cuda, a limit", "backend=cuda\ncapacity=9GiB\n[launch]\nranks=2\n", DEVICES, CUDA, NULL},
    {"cuda, limits", "backend=cuda\ncapacity=8GiB,9GiB\n[launch]\nranks=2\n", DEVICES, CUDA,
     NULL},
    {"cuda, a limit too few", "backend=cuda\ncapacity=8GiB,9GiB\n[launch]\nranks=per-device\n",
     DEVICES, CUDA, NULL},
    {"cuda, ranks too many", "backend=cuda\n[launch]\nranks=4\n", DEVICES, CUDA, NULL},
    {"cuda, one of one", "backend=cuda\n[launch]\nranks=2\n", DEVICES, CUDA, "1"},
    {"cuda, listed", "backend=cuda\n[launch]\nranks=2\ndevices=2,0\n", DEVICES, CUDA, NULL},
    {"cuda, listed twice", "backend=cuda\n[launch]\nranks=2\ndevices=1,1\n", DEVICES, CUDA,
     NULL},
    {"cuda, alone, twice", "backend=cuda\n[launch]\nranks=2\ndevices=1,1\nplacement=alone\n",
     DEVICES, CUDA, NULL},
    {"cuda, twice, one rank", "backend=cuda\n[launch]\ndevices=1,1\n", DEVICES, CUDA, NULL},
    {"cuda, exclusive", "backend=cuda\n[launch]\nranks=2\n", DEVICES "mode 0 3\n", CUDA, NULL},
    {"cuda, exclusive, twice", "backend=cuda\n[launch]\nranks=2\ndevices=0,0\n",
     DEVICES "mode 0 3\n", CUDA, NULL},
    {"cuda, prohibited", "backend=cuda\n", DEVICES "mode 0 2\n", CUDA, NULL},
    {"cuda, old memory call", "backend=cuda\n", DEVICES "old-memory\n", CUDA, NULL},
    {"cuda, none visible", "backend=cuda\n", DEVICES, CUDA, ""},
    {"cuda, not there", "backend=cuda\n[launch]\ndevices=7\n", DEVICES, CUDA, NULL},
    {"cuda, no NVML", "backend=cuda\n", "no-init 9\n", CUDA, NULL},
    {"cuda, fails", "backend=cuda\n", DEVICES "fail 999\n", CUDA, NULL},
    {"cuda, no card", "backend=cuda\n", "driver 580.1\n", CUDA, NULL},
    {"cuda, not built", "backend=cuda\n", DEVICES, "{\"backends\": [\"host\"]}", NULL},
    {"cuda, no context", "backend=cuda\n", DEVICES, "{\"backends\": [\"cuda\"]}", NULL},
    {"cuda, nonsense", "backend=cuda\n", DEVICES, "nonsense", NULL},
    {"cuda, silent", "backend=cuda\n", DEVICES, "", NULL},
};

static const char *const outcome_names[] = {"ok", "refused", "no device"};

static void add_placement(const struct placement *placement, struct text *out)
{
    text_addf(out, "%llu ranks, overhead %llu:", (unsigned long long)placement->ranks,
              (unsigned long long)placement->seats[0].overhead);
    for (uint64_t rank = 0; rank < placement->ranks; rank++) {
        struct row row = ROW_INIT;
        const struct seat *seat = &placement->seats[rank];
        text_addf(out, " [%s%s", seat_has_card(seat) ? seat->card.uuid : "no card",
                  seat->shared ? " shared" : "");
        add_reading(out, "capacity", seat->capacity);
        add_reading(out, "limit", seat->limit);
        add_reading(out, "baseline", seat->baseline);
        seat_to_row(seat, &row);
        add_reading(out, "row", row_count(&row, COLUMN_device_capacity_bytes));
        text_add(out, "]");
        row_release(&row);
    }
}

static void add_list(const char *name, const struct placement *placement,
                     void (*add)(const struct seat *seat, struct text *out), struct text *out)
{
    text_addf(out, " %s ", name);
    for (uint64_t rank = 0; rank < placement->ranks; rank++) {
        text_add(out, rank > 0 ? "," : "");
        add(&placement->seats[rank], out);
    }
}

static void add_uuid(const struct seat *seat, struct text *out)
{
    text_add(out, seat->card.uuid);
}

static void add_shared(const struct seat *seat, struct text *out)
{
    text_add(out, seat->shared ? "yes" : "");
}

static void add_bytes(struct reading bytes, struct text *out)
{
    if (bytes.known)
        text_addf(out, "%llu", (unsigned long long)bytes.value);
}

static void add_baseline(const struct seat *seat, struct text *out)
{
    add_bytes(seat->baseline, out);
}

static void add_told(const struct seat *seat, struct text *out)
{
    add_bytes(seat_has_card(seat) ? seat->limit : seat->capacity, out);
}

/* What ranks are told, as lists. Where there are no cards only sizes are. */
static void add_settings(const struct placement *placement, struct text *out)
{
    bool cards = seat_has_card(&placement->seats[0]);
    text_addf(out, "\n  ranks %llu", (unsigned long long)placement->ranks);
    if (cards) {
        add_list("devices", placement, add_uuid, out);
        add_list("shared", placement, add_shared, out);
        add_list("baselines", placement, add_baseline, out);
    } else {
        text_add(out, " devices  shared  baselines ");
    }
    add_list("capacities", placement, add_told, out);
    text_addf(out, " overhead %llu",
              (unsigned long long)(cards ? 0 : placement->seats[0].overhead));
}

static void add_opened(size_t i, bool measure, struct text *out)
{
    struct study study;
    struct placement placement;
    struct text bytes = TEXT_INIT, why = TEXT_INIT;
    bool simulated = strstr(placed[i].study, "backend") == NULL;
    text_addf(&bytes,
              "[study]\nname=n\nquestion=q\nworkload=dense\n[sweep batch]\nvalues=1\n"
              "[device]\n%s%s",
              simulated ? "backend=simulated\n" : "", placed[i].study);
    set_machine(placed[i].machine);
    write_file("says", placed[i].workload, strlen(placed[i].workload));
    if (strcmp(placed[i].workload, CUDA) == 0)
        write_file("says." C, CUDA_LESS, strlen(CUDA_LESS));
    else
        unlink("says." C);
    if (placed[i].visible != NULL)
        setenv("CUDA_VISIBLE_DEVICES", placed[i].visible, 1);
    if (study_parse("F", &bytes, NULL, 0, &study, &why) != 0) {
        text_addf(out, "study: %s", text_string(&why));
    } else {
        enum admission outcome = admission_open(&placement, &study, measure, &why);
        text_addf(out, "%s \"%s\" ", outcome_names[-outcome], text_string(&why));
        if (outcome == ADMISSION_OK) {
            add_placement(&placement, out);
            add_settings(&placement, out);
            placement_close(&placement);
        }
        study_release(&study);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
    text_release(&bytes);
    text_release(&why);
}

static void placements(void **state)
{
    struct text out = TEXT_INIT;
    (void)state;
    text_add(&out, "# The cards and capacities of a study: looked at, and measured.\n");
    for (size_t i = 0; i < COUNT_OF(placed); i++)
        for (int measure = 0; measure < 2; measure++) {
            text_addf(&out, "=== %s%s\n", placed[i].name, measure ? ", measured" : "");
            add_opened(i, measure, &out);
            text_add_char(&out, '\n');
        }
    golden_check("verdict_card_placement.txt", &out);
    text_release(&out);
}

/* --- a folder of its own -------------------------------------------------------------------
 */

static int go_on(void **state)
{
    *state = xstrdup(getenv(FOLDER_VARIABLE));
    return chdir(*state);
}

/* Returns only when it cannot. */
static void move_to_folder(char **argv)
{
    char folder[] = "/tmp/verdict_card-XXXXXX";
    if (mkdtemp(folder) == NULL)
        return;
    char *command = xasprintf("cp /proc/%d/exe %s/test && cd %s && printf '#!/bin/sh\\n"
                              "cat %s/says.$CUDA_VISIBLE_DEVICES 2>/dev/null || cat "
                              "%s/says\\n' >highwater-workload && "
                              "chmod +x highwater-workload",
                              getpid(), folder, folder, folder, folder);
    const char *path = getenv("LD_LIBRARY_PATH");
    char *libraries =
        xasprintf("%s%s%s", TEST_FAKE, path != NULL ? ":" : "", path != NULL ? path : "");
    char *machine = xasprintf("%s/machine", folder), *program = xasprintf("%s/test", folder);
    setenv("LD_LIBRARY_PATH", libraries, 1);
    setenv("HIGHWATER_FAKE_NVML", machine, 1);
    setenv(FOLDER_VARIABLE, folder, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
    if (system(command) == 0)
        execv(program, argv);
    free(command);
    free(libraries);
    free(machine);
    free(program);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settles),
        cmocka_unit_test(reports),
        cmocka_unit_test(refusals),
        cmocka_unit_test(placements),
    };
    (void)argc;
    if (getenv(FOLDER_VARIABLE) == NULL) {
        move_to_folder(argv);
        perror("verdict_card_test: cannot go on in a folder of its own");
        return 1;
    }
    return cmocka_run_group_tests(tests, go_on, leave_folder);
}
