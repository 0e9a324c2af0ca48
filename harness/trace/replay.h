/* replay: a trace through an allocator on a simulated device, phase by phase. */
#ifndef HIGHWATER_TRACE_REPLAY_H
#define HIGHWATER_TRACE_REPLAY_H

#include "harness/trace/trace.h"

/* Where segments lie, and with it which of equally large free blocks is taken. */
enum replay_ties {
    REPLAY_RECORDED,      /* at the recorded addresses: needs segments. Lower first, unless the
                           * trace is tagged: then as in studies */
    REPLAY_CHUNK_MODEL,   /* predicted addresses, lower first */
    REPLAY_SEGMENT_ORDER, /* as in studies */
};

struct replay_setting {
    const char *allocator;
    struct allocator_setting allocator_setting; /* its tie_break is overruled by `ties` */
    uint64_t device_total;
    enum replay_ties ties;
    const struct segment_records *segments; /* REPLAY_RECORDED; else NULL */
    bool skip_refusals;                     /* lines that say oom are left out */
    bool stop_at_refusal; /* end with the first request that is refused and was granted */
};

/* COLUMN order and names of the expected files, after `phase` and `status`. */
#define REPLAY_FIGURES(FIGURE)                                                                 \
    FIGURE(allocated_start)                                                                    \
    FIGURE(allocated_peak)                                                                     \
    FIGURE(allocated_end)                                                                      \
    FIGURE(reserved_start)                                                                     \
    FIGURE(reserved_peak)                                                                      \
    FIGURE(reserved_end)                                                                       \
    FIGURE(requested_peak)                                                                     \
    FIGURE(inactive_split_end)                                                                 \
    FIGURE(segments_allocated)                                                                 \
    FIGURE(segments_freed)                                                                     \
    FIGURE(alloc_retries)                                                                      \
    FIGURE(ooms)
enum replay_figure {
#define FIGURE(name) REPLAY_##name,
    REPLAY_FIGURES(FIGURE)
#undef FIGURE
        REPLAY_FIGURE_COUNT
};
extern const char *const replay_figure_names[REPLAY_FIGURE_COUNT];

struct replay_phase {
    const char *name; /* borrowed from the trace */
    bool refused;     /* status oom: a request of this phase was refused */
    bool open;        /* the recording ends inside it */
    struct reading figures[REPLAY_FIGURE_COUNT];
};
const char *replay_status(const struct replay_phase *phase); /* ok, oom, partial */

struct replay_result {
    struct replay_phase *phases;
    size_t count;
    uint64_t lines, addresses_known;
    uint64_t allocated_peak, requested_peak; /* of the whole recording */
    struct reading reserved_peak;
    uint64_t refusals;      /* requests that the recording has granted */
    uint64_t first_refusal; /* its line (the header is line 1) */
    struct refusal refusal; /* of the first */
    uint64_t served;        /* refused in the recording, but served here */
    uint64_t device_calls;  /* segments obtained and given back, or mapped and unmapped */
    uint64_t alloc_retries;
    uint64_t address_differences, segment_differences; /* REPLAY_RECORDED */
    struct text first_difference;
};
/* A trace without phases is one, "recording". -1: the allocator cannot be opened with this
 * setting. */
int replay_run(const struct trace *trace, const struct replay_setting *setting,
               struct replay_result *result, struct text *why) MUST_CHECK;
void replay_result_release(struct replay_result *result);

/* The smallest limit, in pages of 2 MiB, at which no request is refused; recorded refusals are
 * left out, but for the one that ended the recording: it is asked for too, and what the program
 * would have asked next is not known, so that the answer is a lower bound. Found by bisection:
 * it runs at `fits` and refuses at `fits` less one page, both replayed; nothing is said about
 * other limits. -1: it does not run even with the whole device. */
struct replay_fit {
    uint64_t fits;
    uint64_t allocated_peak, reserved_peak, alloc_retries, device_calls; /* at `fits` */
    bool at_least;                                                       /* a lower bound */
    uint64_t replays;
};
/* The refused request behind which nothing more was asked for, or trace->count. */
size_t trace_last_refusal(const struct trace *trace);
#define REPLAY_PAGE ((uint64_t)2 << 20)
int replay_find_fit(const struct trace *trace, const struct replay_setting *setting,
                    struct replay_fit *fit, struct text *why) MUST_CHECK;

/* Compares with a file of expected figures: appends one line per difference to `differences`
 * and counts them. -1: the file cannot be read. */
int replay_check(const struct replay_result *result, const char *path, struct text *differences,
                 uint64_t *count, struct text *why) MUST_CHECK;

#endif
