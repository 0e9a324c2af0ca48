#include "harness/verdict/classify.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define SHORT_WORDS 400   /* standard error up to this length is the error text as it is */
#define ROOM 440          /* escaped bytes of one line; with what is said around it below 500 */
#define ROOM_OF_TWO 220   /* where two lines are told */
#define UNREAD "its phase file cannot be read"
#define PLENTY (1u << 30) /* bytes free: a library that could not start had another reason */

/* --- lines ----------------------------------------------------------------------------------
 */

struct line {
    const char *bytes; /* NULL: none */
    size_t length;
};

static struct line trimmed(const char *bytes, size_t length)
{
    while (length > 0 && isspace((unsigned char)bytes[length - 1]))
        length--;
    while (length > 0 && isspace((unsigned char)*bytes)) {
        bytes++;
        length--;
    }
    return (struct line){.bytes = bytes, .length = length};
}

/* Case is ignored; NUL is a byte like any other. */
static bool has(struct line line, const char *wanted)
{
    size_t length = strlen(wanted);
    for (size_t i = 0; i + length <= line.length; i++)
        if (strncasecmp(line.bytes + i, wanted, length) == 0)
            return true;
    return false;
}

static bool has_any(struct line line, const char *const *wanted)
{
    for (; *wanted != NULL; wanted++)
        if (has(line, *wanted))
            return true;
    return false;
}

/* Who says so what. Lines that name the host come first, since they may also say "out of
 * memory"; then the device's, among them torch.OutOfMemoryError and thrust's bad_alloc, which
 * would pass for the general words of a host that follow. */
static const char *const surely_host_words[] = {"CPUAllocator", "host memory",   "MallocHost",
                                                "HostAlloc",    "pinned memory", NULL};
static const char *const host_words[] = {"std::bad_alloc",         "MemoryError",
                                         "Cannot allocate memory", "can't allocate memory",
                                         "Unable to allocate",     NULL};
static const char *const device_words[] = {
    "out of memory",      "OUT_OF_MEMORY",      "OutOfMemory", "cudaErrorMemoryAllocation",
    "RESOURCE_EXHAUSTED", "failed to allocate", NULL};
static const char *const suspect_words[] = {
    "CUBLAS_STATUS_NOT_INITIALIZED", "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_NOT_INITIALIZED", "CUDNN_STATUS_ALLOC_FAILED", NULL};
static const char *const error_words[] = {"error", "fail",    "exception", "abort", "fatal",
                                          "panic", "illegal", "fault",     NULL};

struct reading_of_words {
    struct line host, device, suspect; /* the first of each */
    struct line other;                 /* the last error that is none of them */
    bool other_is_later;               /* it came after the first device line */
    struct line last;                  /* the last line with anything in it */
};

static void keep_first(struct line *kept, struct line line)
{
    if (kept->bytes == NULL)
        *kept = line;
}

static void read_line(struct reading_of_words *read, struct line line)
{
    read->last = line;
    if (has_any(line, surely_host_words)) {
        keep_first(&read->host, line);
    } else if (has_any(line, device_words)) {
        keep_first(&read->device, line);
        read->other_is_later = false;
    } else if (has_any(line, host_words)) {
        keep_first(&read->host, line);
    } else if (has_any(line, suspect_words)) {
        keep_first(&read->suspect, line);
    } else if (has_any(line, error_words)) {
        read->other = line;
        read->other_is_later = read->device.bytes != NULL;
    }
}

static struct reading_of_words read_words(const struct text *words)
{
    struct reading_of_words read = {.host = {NULL, 0}};
    const char *at = words->data, *end = at + words->length;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        struct line line = trimmed(at, (size_t)(stop - at));
        if (line.length > 0)
            read_line(&read, line);
        at = stop < end ? stop + 1 : end;
    }
    return read;
}

/* --- verdicts -------------------------------------------------------------------------------
 */

static void say(struct text *text, struct line line, size_t room)
{
    text_add_escaped(text, line.bytes, line.length, room);
}

/* All of a short text; of a long one the line that tells most. */
static void say_words(struct text *text, const struct text *words,
                      const struct reading_of_words *read)
{
    struct line all = trimmed(words->data, words->length);
    if (all.length <= SHORT_WORDS)
        say(text, all, ROOM);
    else
        say(text, read->other.bytes != NULL ? read->other : read->last, ROOM);
}

static void judge_exit(const struct ending *ending, const struct text *words,
                       struct verdict *verdict)
{
    struct reading_of_words read = read_words(words);
    struct text *error = &verdict->error;
    verdict->status = STATUS_error;
    if (read.device.bytes != NULL) {
        verdict->refused_by = "message";
        verdict->status = read.other_is_later ? STATUS_oom_suspected : STATUS_oom;
        say(error, read.device, read.other_is_later ? ROOM_OF_TWO : ROOM);
        if (read.other_is_later) {
            text_add(error, "; last: ");
            say(error, read.other, ROOM_OF_TWO);
        }
    } else if (read.host.bytes != NULL) {
        verdict->refused_by = "message";
        verdict->status = STATUS_host_oom;
        say(error, read.host, ROOM);
    } else if (read.suspect.bytes != NULL) {
        bool plenty = ending->free.known && ending->free.value >= PLENTY;
        verdict->status = plenty ? STATUS_error : STATUS_oom_suspected;
        say(error, read.suspect, ROOM);
    } else if (read.last.bytes != NULL) {
        say_words(error, words, &read);
    } else {
        text_addf(error, "exit code %d without a word", WEXITSTATUS(ending->wait_status));
    }
}

static void judge_signal(const struct ending *ending, const struct text *words,
                         struct verdict *verdict)
{
    int number = WTERMSIG(ending->wait_status);
    const char *name = sigabbrev_np(number);
    struct reading_of_words read = read_words(words);
    verdict->status = STATUS_crashed;
    if (number == SIGKILL && ending->host_killed) {
        verdict->status = STATUS_host_oom;
        verdict->refused_by = "host";
        text_add(&verdict->error, "ended by the host's out-of-memory killer: ");
    }
    text_addf(&verdict->error, "signal %d", number);
    if (name != NULL)
        text_addf(&verdict->error, " (SIG%s)", name);
    if (read.last.bytes != NULL) {
        text_add(&verdict->error, ": ");
        say_words(&verdict->error, words, &read);
    }
}

const struct row *classify_own(const struct phase_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        int status = row_status(&record->rows[i]);
        if (status >= 0 && status != STATUS_ok && status != STATUS_adapted)
            return &record->rows[i];
    }
    return record->failed && record->count > 0 ? &record->rows[record->count - 1] : NULL;
}

static bool has_adapted(const struct phase_record *record)
{
    for (size_t i = 0; i < record->count; i++)
        if (row_status(&record->rows[i]) == STATUS_adapted)
            return true;
    return false;
}

/* It ended with exit code 0, which proves nothing where phases were expected. */
static void judge_success(const struct ending *ending, const struct phase_record *record,
                          struct verdict *verdict)
{
    const struct row *last = record->count > 0 ? &record->rows[record->count - 1] : NULL;
    const char *cut = last != NULL ? row_text(last, COLUMN_partial) : NULL;
    verdict->status = has_adapted(record) ? STATUS_adapted : STATUS_ok;
    if (ending->unread != NULL) {
        verdict->status = STATUS_error;
        text_add(&verdict->error, UNREAD ": ");
        text_add_escaped(&verdict->error, ending->unread, strlen(ending->unread), ROOM);
    } else if (cut != NULL) {
        verdict->status = STATUS_error;
        text_addf(&verdict->error, "exit code 0 in the middle of phase %s",
                  row_text(last, COLUMN_phase));
    } else if (ending->speaks_phases && !record->said_bye) {
        verdict->status = STATUS_error;
        text_add(&verdict->error, record->said_hello
                                      ? "exit code 0 before the work was done"
                                      : "exit code 0, but it reported no phases");
    }
}

static void judge_own(const struct ending *ending, const struct row *own,
                      struct verdict *verdict)
{
    const char *error = row_text(own, COLUMN_error);
    int status = row_status(own);
    verdict->status = status >= 0 ? (enum status)status : STATUS_error;
    if (error != NULL) /* a cell already: escaped and short */
        text_add(&verdict->error, error);
    if (ending->by == ENDED_BY_TIMEOUT)
        text_add(&verdict->warning, "still alive at the deadline");
}

static void warn(const struct ending *ending, const struct phase_record *record,
                 struct text *warning)
{
    const char *between = warning->length > 0 ? "; " : "";
    if (!ending->reaped) {
        text_addf(warning, "%sit could not be ended", between);
        between = "; ";
    }
    if (ending->left_over > 0) {
        text_addf(warning, "%s%d process%s left behind, ended by us", between,
                  ending->left_over, ending->left_over == 1 ? "" : "es");
        between = "; ";
    } else if (ending->left_over < 0) {
        text_addf(warning, "%sprocesses left behind could not be ended", between);
        between = "; ";
    }
    if (ending->unread != NULL && ending->wait_status != 0) {
        text_addf(warning, "%s" UNREAD, between);
        between = "; ";
    }
    if (record->bad_lines > 0) {
        text_addf(warning, "%s%zu unreadable phase lines", between, record->bad_lines);
        between = "; ";
    }
    if (record->dropped != NULL) {
        text_addf(warning, "%s%s is not the child's to say", between, record->dropped);
        between = "; ";
    }
    if (record->bad_status != NULL)
        text_addf(warning, "%sstatus %s is not the child's to give", between,
                  record->bad_status);
}

void classify(const struct ending *ending, const struct phase_record *record,
              const struct text *words, struct verdict *verdict)
{
    static const struct text silence = {.data = "", .length = 0};
    const struct text *said = words->length > 0 ? words : &silence;
    *verdict = (struct verdict){.status = STATUS_error};
    const struct row *own = classify_own(record);
    if (own != NULL) {
        judge_own(ending, own, verdict);
    } else if (ending->by == ENDED_BY_TIMEOUT) {
        verdict->status = STATUS_timeout;
        text_add(&verdict->error, "still alive at the deadline");
    } else if (ending->by == ENDED_BY_STOP) {
        verdict->status = STATUS_stopped;
        text_add(&verdict->error, STOPPED_WORDS);
    } else if (ending->reaped && WIFSIGNALED(ending->wait_status)) {
        judge_signal(ending, said, verdict);
    } else if (ending->reaped && WEXITSTATUS(ending->wait_status) == 0) {
        judge_success(ending, record, verdict);
    } else {
        judge_exit(ending, said, verdict);
    }
    if (ending->device_lost && verdict->status != STATUS_ok) {
        text_add(&verdict->warning, "the device no longer answers");
        verdict->status = STATUS_device_lost;
        verdict->refused_by = NULL;
    }
    warn(ending, record, &verdict->warning);
}
