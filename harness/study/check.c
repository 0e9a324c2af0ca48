#include "harness/study/interpret.h"
#include "harness/study/sections.h"
#include "harness/study/lines.h"

#include "harness/base/units.h"
#include "kernels/backends.h"
#include "harness/workload/fault.h"

#include <stdlib.h>
#include <string.h>

#define RANKS_LIMIT 4096

struct check {
    const struct document *document;
    struct study *study;
    struct complaints *complaints;
    struct text list; /* a list in its canonical form */
    size_t items;
};

static struct subject about(const struct check *check, const char *section, const char *key)
{
    return document_subject(check->document, section, key);
}

/* Takes the items of a comma-separated list, until one is refused; then the list is replaced by
 * its canonical form, which `take` has gathered. */
static bool each_item(char **list, bool (*take)(struct check *check, const char *item),
                      struct check *check)
{
    text_clear(&check->list);
    check->items = 0;
    for (const char *at = *list;;) {
        size_t length = strcspn(at, ",");
        char *item = section_name(at, length);
        bool good = take(check, item);
        free(item);
        if (!good)
            return false;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    free(*list);
    *list = xstrdup(text_string(&check->list));
    return true;
}

static void check_text(const struct check *check)
{
    const struct study *study = check->study;
    if (study->name && !study_name_is_good(study->name, STUDY_NAME))
        complain(check->complaints, COMPLAINT_VALUE, about(check, "study", "name"),
                 "name: a letter or digit, then letters, digits, \".\", \"_\" and \"-\"; at "
                 "most %d bytes",
                 STUDY_NAME);
    if (study->question && study->question[0] == '\0')
        complain(check->complaints, COMPLAINT_VALUE, about(check, "study", "question"),
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
        complain(check->complaints, COMPLAINT_VALUE, about(check, "launch", "ranks"),
                 "ranks: %s; or per-device", text_string(&why));
    } else if (ranks < 1 || ranks > RANKS_LIMIT) {
        complain(check->complaints, COMPLAINT_VALUE, about(check, "launch", "ranks"),
                 "ranks: %llu is out of range (1 to %d)", (unsigned long long)ranks,
                 RANKS_LIMIT);
    } else {
        study->ranks = reading_of(ranks);
    }
    text_release(&why);
}

/* "item" as it may be shown: short, printable. */
static char *shown(const char *item)
{
    struct text text = TEXT_INIT;
    text_add_char(&text, '"');
    text_add_escaped(&text, item, strlen(item), 60);
    text_add_char(&text, '"');
    return text_detach(&text);
}

static bool take_device(struct check *check, const char *item)
{
    uint64_t index;
    bool uuid = (text_starts_with(item, "GPU-") || text_starts_with(item, "MIG-")) &&
                strspn(item + 4, "0123456789abcdefABCDEF-/GPUMI") == strlen(item + 4) &&
                item[4] != '\0';
    if (uuid || parse_count(item, &index, NULL) == 0) {
        text_addf(&check->list, "%s%s", check->items++ ? "," : "", item);
        return true;
    }
    char *refused = shown(item);
    complain(check->complaints, COMPLAINT_VALUE, about(check, "launch", "devices"),
             "devices: %s is neither an index nor a UUID (GPU-, MIG-)", refused);
    free(refused);
    return false;
}

static void check_devices(struct check *check)
{
    struct study *study = check->study;
    if (strcmp(study->devices, "all") == 0 || !each_item(&study->devices, take_device, check))
        return;
    if (study->setting.backend == BACKEND_CUDA && study->ranks.known &&
        study->ranks.value > check->items)
        complain(check->complaints, COMPLAINT_TOGETHER, about(check, "launch", "devices"),
                 "devices: %zu listed, ranks = %llu; a device serves two ranks only if it is "
                 "listed twice",
                 check->items, (unsigned long long)study->ranks.value);
}

/* --- [device] --- */

static bool take_capacity(struct check *check, const char *item)
{
    struct study *study = check->study;
    struct text why = TEXT_INIT;
    uint64_t bytes = 0;
    bool good = parse_capacity(item, &bytes, &why) == 0;
    if (good) {
        *GROW(study->capacity, study->capacities) = bytes;
        text_addf(&check->list, "%s%llu", check->items++ ? "," : "", (unsigned long long)bytes);
    } else {
        complain(check->complaints, COMPLAINT_VALUE, about(check, "device", "capacity"),
                 "capacity: %s", text_string(&why));
    }
    text_release(&why);
    return good;
}

static void check_capacity(struct check *check)
{
    struct study *study = check->study;
    struct subject subject = about(check, "device", "capacity");
    if (study->capacity_text[0] == '\0') {
        if (study->setting.backend != BACKEND_CUDA)
            complain(check->complaints, COMPLAINT_MISSING, subject,
                     "capacity: must be given for backend %s",
                     backend_names[study->setting.backend]);
        return;
    }
    if (!each_item(&study->capacity_text, take_capacity, check))
        return;
    if (study->capacities > 1 && study->ranks.known && study->ranks.value != study->capacities)
        complain(check->complaints, COMPLAINT_TOGETHER, subject,
                 "capacity: %zu sizes, ranks = %llu: one size for all, or one per rank",
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
    if (fault_parse(words, study->setting.workload->phases, &fault, why) == 0 && rank) {
        struct reading ranks = study_ranks(study);
        text_add(why, "fault: rank ");
        if (parse_count(rank, &number, why) == 0) {
            text_clear(why);
            if (ranks.known && number >= ranks.value)
                text_addf(why, "fault: rank %s is none of the study's %llu (they count from 0)",
                          rank, (unsigned long long)ranks.value);
        }
    }
    free(words);
}

/* A failure on purpose is refused in a study of a real card; builds for tests allow it. */
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
    struct subject overhead = about(check, "device", "overhead");
    struct subject fault = about(check, "device", "fault");
    if (study->setting.memory.device.overhead > 0 &&
        study->setting.backend != BACKEND_SIMULATED)
        complain(check->complaints, COMPLAINT_TOGETHER, overhead,
                 "overhead: assumed on the simulated device only; backend is %s",
                 backend_names[study->setting.backend]);
    if (study->fault[0] == '\0' || !study->setting.workload)
        return;
    struct text why = TEXT_INIT;
    add_fault_error(study, &why);
    if (why.length > 0)
        complain(check->complaints, COMPLAINT_VALUE, fault, "%s", text_string(&why));
    else if (study->setting.backend == BACKEND_CUDA && !faults_on_cuda())
        complain(check->complaints, COMPLAINT_TOGETHER, fault,
                 "fault: on simulated and host only, not on cuda");
    text_release(&why);
}

/* The allocator itself says whether its settings make sense, and the device whether it has the
 * means for it. */
static void check_allocator(const struct check *check)
{
    const struct study *study = check->study;
    const struct device_setting setting = {.capacity = reading_of(UINT64_C(1) << 40)};
    struct device device = {.ops = NULL};
    struct allocator *allocator;
    struct text why = TEXT_INIT;
    const char *key = NULL;
    if (allocator_check_setting(&study->setting.memory.allocator_setting, &key, &why) != 0)
        complain(check->complaints, COMPLAINT_VALUE, about(check, "device", key), "%s: %s", key,
                 text_string(&why));
    else if (device_open(&device, &device_simulated, &setting) == OUTCOME_OK &&
             allocator_open(&allocator, study->setting.memory.allocator, &device,
                            &study->setting.memory.allocator_setting, &why) == 0)
        allocator_close(allocator);
    else
        complain(check->complaints, COMPLAINT_TOGETHER, about(check, "device", "allocator"),
                 "%s", text_string(&why));
    device_close(&device);
    text_release(&why);
}

void study_check(const struct document *document, struct study *study,
                 struct complaints *complaints)
{
    struct check check = {.document = document, .study = study, .complaints = complaints};
    bool backend_known = section_find(document_find(document, "device"), "backend");
    check_text(&check);
    check_ranks(&check);
    check_devices(&check);
    if (backend_known) {
        check_capacity(&check);
        check_device(&check);
    }
    check_allocator(&check);
    text_release(&check.list);
}
