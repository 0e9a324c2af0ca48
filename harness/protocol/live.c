#include "harness/protocol/live.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A state on the page is an array of words, so that every access is a plain atomic one and a
 * reader racing a writer is not undefined behaviour. */
enum word {
    WORD_PID,
    WORD_PHASE,
    WORD_PASS = WORD_PHASE + LIVE_NAME / 8,
    WORD_REFUSED_BY,
    WORD_REPEAT,
    WORD_KNOWN, /* bit per counter, and REPEAT_KNOWN */
    WORD_COUNTERS,
    WORDS = WORD_COUNTERS + COUNTERS
};
#define REPEAT_KNOWN 63
static_assert(COUNTERS <= REPEAT_KNOWN, "counters and the repeat share one word of bits");
static_assert(LIVE_NAME % 8 == 0, "names are whole words");

/* `sequence` counts complete states; the newest lies in copy[sequence % 2]. The writer fills
 * the other copy first and counts up afterwards: wherever it dies, copy[sequence % 2] is
 * whole. */
struct slot {
    _Atomic uint64_t owner; /* pid, 0: free */
    _Atomic uint64_t sequence;
    _Atomic uint64_t copy[2][WORDS];
};

struct live_page {
    char magic[8];
    uint32_t layout;
    uint32_t slots;
    uint32_t words;
    uint32_t unused;
    struct slot slot[LIVE_SLOTS];
};
static const char page_magic[8] = "hwlive\n";

#define READ_TRIES 100000 /* a writer that never pauses lets one through long before */

static int refuse(struct text *why, const char *verb, const char *path, int error)
{
    return text_fail(why, "cannot %s live page %s: %s", verb, path, strerror(error));
}

int live_create(const char *path, struct text *why)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return refuse(why, "create", path, errno);
    struct live_page header = {.layout = LIVE_LAYOUT, .slots = LIVE_SLOTS, .words = WORDS};
    memcpy(header.magic, page_magic, sizeof header.magic);
    int error = posix_fallocate(fd, 0, (off_t)sizeof header);
    if (error == 0) {
        ssize_t written = pwrite(fd, &header, sizeof header, 0);
        if (written != (ssize_t)sizeof header)
            error = written < 0 ? errno : ENOSPC;
    }
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0)
        return 0;
    unlink(path);
    return refuse(why, "allocate", path, error);
}

static bool is_ours(const struct live_page *page)
{
    return memcmp(page->magic, page_magic, sizeof page_magic) == 0 &&
           page->layout == LIVE_LAYOUT && page->slots == LIVE_SLOTS && page->words == WORDS;
}

int live_open(const char *path, struct live_page **page, struct text *why)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return refuse(why, "open", path, errno);
    struct stat status;
    void *mapped = MAP_FAILED;
    int error = fstat(fd, &status) != 0 ? errno : 0;
    if (error == 0 && (uint64_t)status.st_size < sizeof **page)
        error = EINVAL;
    if (error == 0) {
        mapped = mmap(NULL, sizeof **page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        error = mapped == MAP_FAILED ? errno : 0;
    }
    close(fd);
    if (error != 0)
        return refuse(why, "map", path, error);
    if (!is_ours(mapped)) {
        munmap(mapped, sizeof **page);
        return text_fail(why, "live page %s has another layout than %u", path, LIVE_LAYOUT);
    }
    *page = mapped;
    return 0;
}

void live_close(struct live_page *page)
{
    if (page != NULL)
        munmap(page, sizeof *page);
}

/* --- child ----------------------------------------------------------------------------- */

int live_claim(struct live_page *page, uint64_t pid)
{
    assert(pid != 0);
    for (int i = 0; i < LIVE_SLOTS; i++) {
        uint64_t expected = 0;
        if (!atomic_compare_exchange_strong(&page->slot[i].owner, &expected, pid))
            continue;
        struct live_state first = {.pid = pid};
        live_publish(page, i, &first);
        return i;
    }
    return -1;
}

static void set_word(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

/* Text of at most `length` bytes, whole words, padded with NUL. */
static void set_words(_Atomic uint64_t *word, const char *text, size_t length)
{
    for (size_t i = 0; i < length / 8; i++) {
        uint64_t value;
        memcpy(&value, text + i * 8, 8);
        set_word(word + i, value);
    }
}

void live_publish(struct live_page *page, int index, const struct live_state *state)
{
    struct slot *slot = &page->slot[index];
    uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
    _Atomic uint64_t *copy = slot->copy[(sequence + 1) % 2];
    /* A reader that sees any word written below also sees the sequence counted up before it. */
    atomic_thread_fence(memory_order_release);
    uint64_t known = state->repeat.known ? 1ull << REPEAT_KNOWN : 0;
    set_word(copy + WORD_PID, state->pid);
    set_words(copy + WORD_PHASE, state->phase, LIVE_NAME);
    set_words(copy + WORD_PASS, state->pass, 8);
    set_words(copy + WORD_REFUSED_BY, state->refused_by, 8);
    set_word(copy + WORD_REPEAT, state->repeat.value);
    for (int i = 0; i < COUNTERS; i++) {
        struct reading reading = state->counters.value[i];
        known |= (uint64_t)reading.known << i;
        set_word(copy + WORD_COUNTERS + i, reading.value);
    }
    set_word(copy + WORD_KNOWN, known);
    atomic_store_explicit(&slot->sequence, sequence + 1, memory_order_release);
}

/* --- rank ------------------------------------------------------------------------------ */

/* Names end inside their room, whatever the child left there. */
static void get_name(const uint64_t *word, char *name, size_t room)
{
    memcpy(name, word, room);
    name[room - 1] = '\0';
    size_t length = strlen(name);
    memset(name + length, 0, room - length);
}

static struct reading get_reading(const uint64_t *word, int at, int bit)
{
    bool known = (word[WORD_KNOWN] >> bit & 1) != 0;
    return known ? reading_of(word[at]) : reading_missing();
}

static void unpack(const uint64_t *word, struct live_state *state)
{
    *state = (struct live_state){.pid = word[WORD_PID]};
    get_name(word + WORD_PHASE, state->phase, sizeof state->phase);
    get_name(word + WORD_PASS, state->pass, sizeof state->pass);
    get_name(word + WORD_REFUSED_BY, state->refused_by, sizeof state->refused_by);
    state->repeat = get_reading(word, WORD_REPEAT, REPEAT_KNOWN);
    for (int i = 0; i < COUNTERS; i++)
        state->counters.value[i] = get_reading(word, WORD_COUNTERS + i, i);
}

bool live_read(const struct live_page *page, int index, struct live_state *state)
{
    const struct slot *slot = &page->slot[index];
    for (int try = 0; try < READ_TRIES; try++) {
        uint64_t word[WORDS];
        uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
        if (sequence == 0)
            return false;
        for (int i = 0; i < WORDS; i++)
            word[i] = atomic_load_explicit(&slot->copy[sequence % 2][i], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&slot->sequence, memory_order_relaxed) != sequence)
            continue;
        unpack(word, state);
        return true;
    }
    return false;
}

bool live_same_phase(const struct live_state *a, const struct live_state *b)
{
    return strcmp(a->phase, b->phase) == 0 && strcmp(a->pass, b->pass) == 0 &&
           reading_same(a->repeat, b->repeat);
}
