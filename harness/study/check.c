#include "harness/study/interpret.h"
#include "harness/study/sections.h"
#include "harness/study/study_options.h"

#include "harness/base/units.h"
#include "kernels/backends.h"
#include "kernels/workloads/fault.h"

#include <stdlib.h>
#include <string.h>

#define RANKS_LIMIT 4096

struct check {
    const struct document *document;
    struct study *study;
    struct complaints *complaints;
};

static size_t line_of(const struct check *check, const char *section, const char *key)
{
    return document_line(check->document, section, key);
}

/* Splits at commas, blanks around items dropped; false stops. */
static bool each_item(const char *list, bool (*each)(struct check *check, const char *item),
                      struct check *check)
{
    for (;;) {
        size_t length = strcspn(list, ",");
        char *item = section_name(list, length);
        bool go_on = each(check, item);
        free(item);
        if (!go_on || list[length] == '\0')
            return go_on;
        list += length + 1;
    }
}

static void check_text(const struct check *check)
{
    const struct study *study = check->study;
    if (study->name && !study_name_is_good(study->name, STUDY_NAME))
        complain(check->complaints, line_of(check, "study", "name"),
                 "name: a letter or digit, then letters, digits, \".\", \"_\" and \"-\"; at "
                 "most %d bytes",
                 STUDY_NAME);
    if (study->question && study->question[0] == '\0')
        complain(check->complaints, line_of(check, "study", "question"),
                 "question: a question is missing");
}

/* --- [launch] --- */

static void check_ranks(const struct check *check)
{
    struct study *study = check->study;
    struct text why = TEXT_INIT;
    uint64_t ranks;
    if (strcmp(study->ranks_text, "per-device") == 0) {
        study->ranks = reading_missing();
    } else if (parse_count(study->ranks_text, &ranks, &why) != 0) {
        complain(check->complaints, line_of(check, "launch", "ranks"),
                 "ranks: %s; or per-device", text_string(&why));
    } else if (ranks < 1 || ranks > RANKS_LIMIT) {
        complain(check->complaints, line_of(check, "launch", "ranks"),
                 "ranks: %llu is out of range (1 to %d)", (unsigned long long)ranks,
                 RANKS_LIMIT);
    } else {
        study->ranks = reading_of(ranks);
    }
    text_release(&why);
}

static bool check_one_device(struct check *check, const char *item)
{
    uint64_t index;
    struct text why = TEXT_INIT;
    bool uuid = (text_starts_with(item, "GPU-") || text_starts_with(item, "MIG-")) &&
                strspn(item + 4, "0123456789abcdefABCDEF-/GPUMI") == strlen(item + 4) &&
                item[4] != '\0';
    bool good = uuid || parse_count(item, &index, &why) == 0;
    if (!good)
        complain(check->complaints, line_of(check, "launch", "devices"),
                 "devices: \"%.60s\" is neither an index nor a UUID (GPU-… or MIG-…)", item);
    text_release(&why);
    return good;
}

static void check_devices(struct check *check)
{
    const struct study *study = check->study;
    if (strcmp(study->devices, "all") == 0 ||
        !each_item(study->devices, check_one_device, check))
        return;
    size_t count = 1;
    for (const char *c = study->devices; *c; c++)
        count += *c == ',';
    if (study->backend == BACKEND_CUDA && study->ranks.known && study->ranks.value > count)
        complain(check->complaints, line_of(check, "launch", "devices"),
                 "devices: %zu listed for %llu ranks; a device serves two only if it is listed "
                 "twice",
                 count, (unsigned long long)study->ranks.value);
}

/* --- [device] --- */

static bool take_capacity(struct check *check, const char *item)
{
    struct study *study = check->study;
    struct text why = TEXT_INIT;
    uint64_t bytes = 0;
    bool good = parse_size(item, &bytes, &why) == 0;
    if (good && bytes == 0) {
        text_add(&why, "a device of 0 bytes");
        good = false;
    }
    if (good) {
        study->capacity =
            xrealloc(study->capacity, (study->capacities + 1) * sizeof *study->capacity);
        study->capacity[study->capacities++] = bytes;
    } else {
        complain(check->complaints, line_of(check, "device", "capacity"), "capacity: %s",
                 text_string(&why));
    }
    text_release(&why);
    return good;
}

static void check_capacity(struct check *check)
{
    struct study *study = check->study;
    size_t line = line_of(check, "device", "capacity");
    const char *backend = backend_names[study->backend];
    if (study->capacity_text[0] == '\0') {
        if (study->backend != BACKEND_CUDA)
            complain(check->complaints, line, "capacity: needed when backend = %s", backend);
        return;
    }
    if (study->backend == BACKEND_CUDA && cuda_capacity_not_yet) {
        complain(check->complaints, line, "capacity: %s", cuda_capacity_not_yet);
        return;
    }
    if (!each_item(study->capacity_text, take_capacity, check))
        return;
    if (study->capacities > 1 && study->ranks.known && study->ranks.value != study->capacities)
        complain(check->complaints, line,
                 "capacity: %zu sizes for %llu ranks; one size, or one per rank",
                 study->capacities, (unsigned long long)study->ranks.value);
}

/* PHASE:KIND[:RANK], the first two as the workload itself reads them. */
static void add_fault_error(const struct study *study, struct text *why)
{
    char *words = xstrdup(study->fault), *kind = strchr(words, ':');
    char *rank = kind ? strchr(kind + 1, ':') : NULL;
    uint64_t number = 0;
    struct fault fault;
    if (rank)
        *rank++ = '\0';
    if (fault_parse(words, study->workload->phases, &fault, why) == 0 && rank &&
        parse_count(rank, &number, why) == 0 && study_ranks(study).known &&
        number >= study_ranks(study).value)
        text_addf(why, "rank %s is none of the study's %llu (they count from 0)", rank,
                  (unsigned long long)study_ranks(study).value);
    free(words);
}

/* A failure on purpose has no place in a real study of a card; test builds may. */
static bool faults_on_cuda(void)
{
#ifdef HIGHWATER_TEST_HOOKS
    return true;
#else
    return false;
#endif
}

static void check_device(struct check *check)
{
    const struct study *study = check->study;
    size_t overhead = line_of(check, "device", "overhead");
    size_t fault = line_of(check, "device", "fault");
    if (study->overhead > 0 && study->backend != BACKEND_SIMULATED)
        complain(check->complaints, overhead,
                 "overhead: assumed on the simulated device only; backend is %s",
                 backend_names[study->backend]);
    if (study->fault[0] == '\0' || !study->workload)
        return;
    struct text why = TEXT_INIT;
    add_fault_error(study, &why);
    if (why.length > 0)
        complain(check->complaints, fault, "fault: %s", text_string(&why));
    else if (study->backend == BACKEND_CUDA && !faults_on_cuda())
        complain(check->complaints, fault, "fault: on simulated and host only, not on cuda");
    text_release(&why);
}

/* The allocator itself says whether its settings make sense. */
static void check_allocator(const struct check *check)
{
    const struct study *study = check->study;
    const struct device_setting setting = {.capacity = reading_of(UINT64_C(1) << 40)};
    struct device device;
    struct allocator *allocator;
    struct text why = TEXT_INIT;
    const char *nearest = text_nearest(study->allocator, allocator_names);
    bool known = false;
    for (size_t i = 0; allocator_names[i]; i++)
        known = known || strcmp(allocator_names[i], study->allocator) == 0;
    size_t line = line_of(check, "device", "allocator");
    if (!known) {
        text_addf(&why, "allocator: \"%.60s\" is none of", study->allocator);
        for (size_t i = 0; allocator_names[i]; i++)
            text_addf(&why, "%s %s", i ? "," : "", allocator_names[i]);
        if (nearest)
            text_addf(&why, "; did you mean \"%s\"?", nearest);
        complain(check->complaints, line, "%s", text_string(&why));
    } else if (device_open(&device, &device_simulated, &setting) == OUTCOME_OK) {
        if (allocator_open(&allocator, study->allocator, &device, &study->allocator_setting,
                           &why) == 0)
            allocator_close(allocator);
        else
            complain(check->complaints, line, "%s", text_string(&why));
        device_close(&device);
    }
    text_release(&why);
}

void study_check(const struct document *document, struct study *study,
                 struct complaints *complaints)
{
    struct check check = {document, study, complaints};
    bool backend_known = section_find(document_find(document, "device"), "backend");
    check_text(&check);
    check_ranks(&check);
    check_devices(&check);
    if (backend_known) {
        check_capacity(&check);
        check_device(&check);
    }
    check_allocator(&check);
    study_check_points(document, study, complaints);
}
