#include "harness/verdict/classify.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SHORT_WORDS 400 /* standard error up to this length is the error text as it is */
#define ROOM 440        /* escaped bytes of one line; with what is said around it below 500 */
#define ROOM_OF_TWO 220 /* where two lines are told */
#define UNREAD "its phase file cannot be read"
#define DEADLINE "still alive at the deadline"

/* --- lines --- */

struct log_line {
    const char *bytes; /* NULL: none */
    size_t length;
};

static struct log_line trimmed(const char *bytes, size_t length)
{
    while (length > 0 && isspace((unsigned char)bytes[length - 1]))
        length--;
    while (length > 0 && isspace((unsigned char)*bytes)) {
        bytes++;
        length--;
    }
    return (struct log_line){.bytes = bytes, .length = length};
}

/* Case is ignored; NUL is a byte like any other. */
static bool has(struct log_line line, const char *wanted)
{
    size_t length = strlen(wanted);
    for (size_t i = 0; i + length <= line.length; i++)
        if (strncasecmp(line.bytes + i, wanted, length) == 0)
            return true;
    return false;
}

static bool has_any(struct log_line line, const char *const *wanted)
{
    for (; *wanted != NULL; wanted++)
        if (has(line, *wanted))
            return true;
    return false;
}

/* Words by which a line of standard error is found to quote. They choose a text, and decide
 * nothing. */
static const char *const memory_words[] = {"out of memory",
                                           "OUT_OF_MEMORY",
                                           "OutOfMemory",
                                           "cudaErrorMemoryAllocation",
                                           "RESOURCE_EXHAUSTED",
                                           "failed to allocate",
                                           "unable to allocate",
                                           "cannot allocate",
                                           "can't allocate",
                                           "bad_alloc",
                                           "MemoryError",
                                           "STATUS_ALLOC_FAILED",
                                           "CUBLAS_STATUS_NOT_INITIALIZED",
                                           "CUDNN_STATUS_NOT_INITIALIZED",
                                           NULL};
static const char *const error_words[] = {"error", "fail",    "exception", "abort", "fatal",
                                          "panic", "illegal", "fault",     NULL};

struct reading_of_words {
    struct log_line memory; /* the first that speaks of memory */
    struct log_line other;  /* the last error that does not */
    bool other_is_later;    /* no line that speaks of memory came after it */
    struct log_line last;   /* the last line with anything in it */
};

static void read_line(struct reading_of_words *read, struct log_line line)
{
    read->last = line;
    if (has_any(line, memory_words)) {
        if (read->memory.bytes == NULL)
            read->memory = line;
        read->other_is_later = false;
    } else if (has_any(line, error_words)) {
        read->other = line;
        read->other_is_later = true;
    }
}

static struct reading_of_words read_words(const struct text *words)
{
    struct reading_of_words read = {.memory = {NULL, 0}};
    size_t at = 0, length;
    for (const char *bytes; (bytes = text_line(words, &at, &length)) != NULL;) {
        struct log_line line = trimmed(bytes, length);
        if (line.length > 0)
            read_line(&read, line);
    }
    return read;
}

/* --- which rules hold ------------------------------------------------------------------- */

const struct row *classify_own(const struct phase_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        int status = row_status(&record->rows[i]);
        if (status >= 0 && status != STATUS_ok && status != STATUS_adapted)
            return &record->rows[i];
    }
    return record->failed && record->count > 0 ? &record->rows[record->count - 1] : NULL;
}

static int status_of_own(const struct row *own)
{
    int status = row_status(own);
    return status >= 0 ? status : STATUS_error;
}

static bool has_adapted(const struct phase_record *record)
{
    for (size_t i = 0; i < record->count; i++)
        if (row_status(&record->rows[i]) == STATUS_adapted)
            return true;
    return false;
}

/* The phase in which it ended; NULL: in none. */
static const struct row *cut_phase(const struct phase_record *record)
{
    const struct row *last = record->count > 0 ? &record->rows[record->count - 1] : NULL;
    return last != NULL && row_text(last, COLUMN_partial) != NULL ? last : NULL;
}

static uint64_t rules_of_end(const struct ending *ending, const struct phase_record *record)
{
    bool signalled = ending->reaped && WIFSIGNALED(ending->wait_status);
    bool killed = signalled && WTERMSIG(ending->wait_status) == SIGKILL;
    bool well = ending->reaped && !signalled && WEXITSTATUS(ending->wait_status) == 0;
    return RULE_IF(deadline, ending->by == ENDED_BY_TIMEOUT) |
           RULE_IF(ended_by_us, ending->by == ENDED_BY_STOP) |
           RULE_IF(killed_by_host, killed && ending->host_killed) |
           RULE_IF(signalled, signalled) | RULE_IF(unread, well && ending->unread != NULL) |
           RULE_IF(cut_off, well && cut_phase(record) != NULL) |
           RULE_IF(no_bye, well && ending->speaks_phases && !record->said_bye) |
           RULE_IF(did_otherwise, well && has_adapted(record)) | RULE_IF(ended_well, well) |
           RULE_IF(ended_badly, true) | RULE_IF(card_lost, ending->device_lost);
}

/* --- what is said of it ----------------------------------------------------------------- */

static void say(struct text *text, struct log_line line, size_t room)
{
    text_add_escaped(text, line.bytes, line.length, room);
}

/* All of a short text; of a long one the line that tells most. */
static void say_words(struct text *text, const struct text *words,
                      const struct reading_of_words *read)
{
    struct log_line all = trimmed(words->data, words->length);
    if (all.length <= SHORT_WORDS)
        say(text, all, ROOM);
    else
        say(text, read->other.bytes != NULL ? read->other : read->last, ROOM);
}

static void say_signal(int number, const struct text *words,
                       const struct reading_of_words *read, struct text *error)
{
    const char *name = sigabbrev_np(number);
    text_addf(error, "signal %d", number);
    if (name != NULL)
        text_addf(error, " (SIG%s)", name);
    if (read->last.bytes != NULL) {
        text_add(error, ": ");
        say_words(error, words, read);
    }
}

/* The first line that speaks of memory is the first cause, and an error that came later is told
 * beside it. */
static void say_bad_end(int code, const struct text *words, const struct reading_of_words *read,
                        struct text *error)
{
    if (read->memory.bytes != NULL && read->other_is_later) {
        say(error, read->memory, ROOM_OF_TWO);
        text_add(error, "; last: ");
        say(error, read->other, ROOM_OF_TWO);
    } else if (read->memory.bytes != NULL) {
        say(error, read->memory, ROOM);
    } else if (read->last.bytes != NULL) {
        say_words(error, words, read);
    } else {
        text_addf(error, "exit code %d without a word", code);
    }
}

/* Behind the warnings that there are already, with "; " between. */
PRINTF_LIKE(2, 3)
static void warn_of(struct verdict *verdict, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (verdict->warning.length > 0)
        text_add(&verdict->warning, "; ");
    text_addv(&verdict->warning, format, arguments);
    va_end(arguments);
}

/* `cause`: the rule that decided first; none when the child said it `own`. */
static void say_cause(enum rule cause, const struct row *own, const struct child_facts *facts,
                      const struct text *words, const struct reading_of_words *read,
                      struct verdict *verdict)
{
    const struct ending *ending = facts->ending;
    struct text *error = &verdict->error;
    switch (cause) {
    case RULE_deadline:
        text_add(error, DEADLINE);
        break;
    case RULE_ended_by_us: /* why, the driver knows */
        break;
    case RULE_killed_by_host:
        verdict->refused_by = "host";
        text_add(error, "ended by the host's out-of-memory killer: ");
        say_signal(SIGKILL, words, read, error);
        break;
    case RULE_signalled:
        say_signal(WTERMSIG(ending->wait_status), words, read, error);
        break;
    case RULE_unread:
        text_add(error, UNREAD ": ");
        text_add_escaped(error, ending->unread, strlen(ending->unread), ROOM);
        break;
    case RULE_cut_off:
        text_addf(error, "exit code 0 in the middle of phase %s",
                  row_text(cut_phase(facts->record), COLUMN_phase));
        break;
    case RULE_no_bye:
        text_add(error, facts->record->said_hello ? "exit code 0 before the work was done"
                                                  : "exit code 0, but it reported no phases");
        break;
    case RULE_ended_badly:
        say_bad_end(WEXITSTATUS(ending->wait_status), words, read, error);
        break;
    default:
        if (own != NULL && row_text(own, COLUMN_error) != NULL) /* escaped and short already */
            text_add(error, row_text(own, COLUMN_error));
        if (own != NULL && ending->by == ENDED_BY_TIMEOUT)
            warn_of(verdict, DEADLINE);
        break;
    }
}

static void warn(const struct ending *ending, const struct phase_record *record,
                 struct verdict *verdict)
{
    if (!ending->reaped)
        warn_of(verdict, "it could not be ended");
    if (ending->left_over > 0)
        warn_of(verdict, "%d process%s left behind, ended by us", ending->left_over,
                ending->left_over == 1 ? "" : "es");
    else if (ending->left_over < 0)
        warn_of(verdict, "processes left behind could not be ended");
    if (ending->unread != NULL && ending->wait_status != 0)
        warn_of(verdict, UNREAD);
    if (record->bad_lines > 0)
        warn_of(verdict, "%zu unreadable phase lines", record->bad_lines);
    if (record->dropped != NULL)
        warn_of(verdict, "%s is not the child's to say", record->dropped);
    if (record->bad_status)
        warn_of(verdict, "status %s is not the child's to give",
                record->status_given < 0 ? "of no known name"
                                         : status_facts[record->status_given].name);
}

/* It was refused memory, went on and ended well. */
static void warn_of_refusal(const struct phase_record *record, struct verdict *verdict)
{
    const struct row *refused = NULL;
    struct reading retries = reading_missing();
    for (size_t i = 0; i < record->count; i++) {
        const struct row *row = &record->rows[i];
        if (refused == NULL && row_text(row, COLUMN_refused_by) != NULL)
            refused = row;
        retries = reading_max(retries, row_count(row, COLUMN_alloc_retries));
    }
    if (refused != NULL)
        warn_of(verdict, "memory was refused by %s, and it went on",
                row_text(refused, COLUMN_refused_by));
    if (retries.known && retries.value > 0)
        warn_of(verdict,
                "memory was refused until the allocator gave back its cache: %llu times",
                (unsigned long long)retries.value);
}

/* The rank that failed first is the cause; what became of this one stands behind it. */
static void say_peer(uint64_t peer, enum rule cause, struct verdict *verdict)
{
    bool by_us = cause == RULE_ended_by_us;
    char *own = xstrdup(by_us ? "ended by us" : text_string(&verdict->error));
    text_setf(&verdict->error, "rank %llu failed first: %.400s", (unsigned long long)peer, own);
    free(own);
}

void classify(const struct child_facts *facts, struct verdict *verdict)
{
    static const struct text silence = {.data = "", .length = 0};
    bool silent = facts->words == NULL || facts->words->length == 0;
    const struct text *words = silent ? &silence : facts->words;
    const struct reading_of_words read = read_words(words);
    const struct row *own = classify_own(facts->record);
    struct text moved = TEXT_INIT;
    bool others = card_use_moved(&facts->card, facts->record, &moved);
    int status = own != NULL ? status_of_own(own) : UNDECIDED;
    uint64_t decided =
        rules_apply(rules_of_end(facts->ending, facts->record) | RULE_IF(neighbour, others) |
                        RULE_IF(peer_failed, facts->failed_first.known),
                    &status);
    enum rule cause = own != NULL ? RULES : rules_first(decided);
    *verdict = (struct verdict){.status = (enum status)status};
    say_cause(cause, own, facts, words, &read, verdict);
    if (rules_have(decided, RULE_card_lost))
        warn_of(verdict, "the device no longer answers");
    warn(facts->ending, facts->record, verdict);
    if (status == STATUS_ok)
        warn_of_refusal(facts->record, verdict);
    if (others)
        warn_of(verdict, "use of the card by others moved during the run: %s",
                text_string(&moved));
    if (facts->card.mute != NULL)
        warn_of(verdict, "%s", facts->card.mute);
    if (rules_have(decided, RULE_peer_failed))
        say_peer(facts->failed_first.value, cause, verdict);
    if (rules_have(decided, RULE_card_lost) || rules_have(decided, RULE_peer_failed))
        verdict->refused_by = NULL;
    text_release(&moved);
}

enum rule classify_unseen(uint64_t holding, struct verdict *verdict)
{
    int status = UNDECIDED;
    enum rule cause = rules_first(rules_apply(holding, &status));
    *verdict = (struct verdict){.status = (enum status)status};
    return cause;
}
