#include "harness/trace/trace.h"
#include "harness/base/units.h"
#include "harness/trace/idmap.h"
#include "harness/record/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OP, ID, BYTES, STREAM, ADDRESS, TAG, TRACE_FIELDS };
static const char *const trace_header[] = {"op", "id", "bytes", "stream", "address", "tag"};
static const char *const op_names[] = {"alloc", "free", "oom", "empty_cache", "begin", "end"};

enum { AFTER, ACTION, SEGMENT_BYTES, SEGMENT_STREAM, SEGMENT_ADDRESS, SEGMENT_FIELDS };
static const char *const segment_header[] = {"after_trace_line", "action", "bytes", "stream",
                                             "address"};

#define TOO_LARGE ((uint64_t)1 << 60)

struct trace_reader {
    struct trace trace;
    struct segment_records segments;
    struct idmap ids;
    size_t fields; /* 0: the header is still to come */
    bool in_phase;
    struct text reason;
};

static int refuse(struct trace_reader *reader, const char *what, const char *value)
{
    text_add(&reader->reason, what);
    if (value) {
        text_add(&reader->reason, " \"");
        text_add_escaped(&reader->reason, value, strlen(value), 60);
        text_add_char(&reader->reason, '"');
    }
    return -1;
}

static int read_number(struct trace_reader *reader, const char *name, const char *value,
                       uint64_t *out)
{
    struct text reason = TEXT_INIT;
    const int result = parse_count(value, out, &reason);
    if (result)
        text_addf(&reader->reason, "%s: %s", name, text_string(&reason));
    text_release(&reason);
    return result;
}

static int read_size(struct trace_reader *reader, const char *value, uint64_t *out)
{
    uint64_t bytes;
    if (read_number(reader, "bytes", value, &bytes))
        return -1;
    if (bytes == 0)
        return refuse(reader, "a request of 0 bytes never reaches an allocator", NULL);
    if (bytes >= TOO_LARGE)
        return refuse(reader, "a request of 2^60 bytes or more never reaches an allocator",
                      NULL);
    *out = bytes;
    return 0;
}

static struct trace_event *add_event(struct trace_reader *reader, enum trace_op op)
{
    struct trace *trace = &reader->trace;
    struct trace_event *event = GROW(trace->events, trace->count);
    *event = (struct trace_event){.op = (uint8_t)op};
    return event;
}

static int read_alloc(struct trace_reader *reader, char **fields)
{
    uint64_t id, bytes, stream, address = 0;
    uint32_t slot;
    if (read_number(reader, "id", fields[ID], &id) ||
        read_size(reader, fields[BYTES], &bytes) ||
        read_number(reader, "stream", fields[STREAM], &stream))
        return -1;
    const bool has_address = fields[ADDRESS][0] != '\0';
    if (has_address && read_number(reader, "address", fields[ADDRESS], &address))
        return -1;
    if (!idmap_add(&reader->ids, id, &slot))
        return refuse(reader, "alloc of an id that is live already:", fields[ID]);
    struct trace_event *event = add_event(reader, TRACE_ALLOC);
    event->has_address = has_address;
    event->slot = slot;
    event->bytes = bytes;
    event->stream = stream;
    event->address = address;
    return 0;
}

static int read_free(struct trace_reader *reader, char **fields)
{
    uint64_t id;
    uint32_t slot;
    if (read_number(reader, "id", fields[ID], &id))
        return -1;
    if (!idmap_remove(&reader->ids, id, &slot))
        return refuse(reader, "free of an id that is not live:", fields[ID]);
    add_event(reader, TRACE_FREE)->slot = slot;
    return 0;
}

static int read_oom(struct trace_reader *reader, char **fields)
{
    uint64_t bytes, stream = 0;
    if (read_size(reader, fields[BYTES], &bytes) ||
        (fields[STREAM][0] && read_number(reader, "stream", fields[STREAM], &stream)))
        return -1;
    struct trace_event *event = add_event(reader, TRACE_OOM);
    event->bytes = bytes;
    event->stream = stream;
    return 0;
}

static int read_begin(struct trace_reader *reader, char **fields)
{
    struct trace *trace = &reader->trace;
    if (reader->in_phase)
        return refuse(reader, "begin of a phase inside another:", fields[ID]);
    if (!fields[ID][0])
        return refuse(reader, "a phase needs a name", NULL);
    reader->in_phase = true;
    add_event(reader, TRACE_BEGIN)->slot = (uint32_t)trace->name_count;
    *GROW(trace->names, trace->name_count) = xstrdup(fields[ID]);
    return 0;
}

static int read_end(struct trace_reader *reader, char **fields)
{
    struct trace *trace = &reader->trace;
    if (!reader->in_phase || strcmp(fields[ID], trace->names[trace->name_count - 1]) != 0)
        return refuse(reader, "end of a phase that did not begin:", fields[ID]);
    reader->in_phase = false;
    add_event(reader, TRACE_END)->slot = (uint32_t)trace->name_count - 1;
    return 0;
}

static int read_empty_cache(struct trace_reader *reader, char **fields)
{
    (void)fields;
    add_event(reader, TRACE_EMPTY_CACHE);
    return 0;
}

/* The first record decides how many fields the others have. */
static int read_header(struct trace_reader *reader, char **fields, size_t count,
                       const char *const *header, size_t least, size_t most)
{
    bool same = count >= least && count <= most;
    for (size_t i = 0; same && i < count; i++)
        same = strcmp(fields[i], header[i]) == 0;
    if (!same) {
        text_add(&reader->reason, "the header is not ");
        for (size_t i = 0; i < least; i++)
            text_addf(&reader->reason, "%s%s", i ? "," : "", header[i]);
        return -1;
    }
    reader->fields = count;
    return 0;
}

static int check_count(struct trace_reader *reader, size_t count)
{
    if (count == reader->fields)
        return 0;
    text_addf(&reader->reason, "%zu fields where the header has %zu", count, reader->fields);
    return -1;
}

static int read_trace_record(void *user, char **fields, size_t count, uint64_t line)
{
    static int (*const readers[])(struct trace_reader *, char **) = {
        read_alloc, read_free, read_oom, read_empty_cache, read_begin, read_end};
    struct trace_reader *reader = user;
    (void)line;
    if (!reader->fields)
        return read_header(reader, fields, count, trace_header, TAG, TRACE_FIELDS);
    if (check_count(reader, count))
        return -1;
    for (size_t i = 0; i < sizeof(op_names) / sizeof(op_names[0]); i++) {
        if (strcmp(fields[OP], op_names[i]) == 0)
            return readers[i](reader, fields);
    }
    return refuse(reader, "no such op:", fields[OP]);
}

static int read_segment_record(void *user, char **fields, size_t count, uint64_t line)
{
    struct trace_reader *reader = user;
    struct segment_records *segments = &reader->segments;
    struct segment_record record = {0};
    int action = 0;
    (void)line;
    if (!reader->fields)
        return read_header(reader, fields, count, segment_header, SEGMENT_FIELDS,
                           SEGMENT_FIELDS);
    if (check_count(reader, count) ||
        read_number(reader, "after_trace_line", fields[AFTER], &record.after) ||
        read_size(reader, fields[SEGMENT_BYTES], &record.event.bytes) ||
        read_number(reader, "stream", fields[SEGMENT_STREAM], &record.event.stream) ||
        read_number(reader, "address", fields[SEGMENT_ADDRESS], &record.event.address))
        return -1;
    while (segment_action_names[action] && strcmp(fields[ACTION], segment_action_names[action]))
        action++;
    if (!segment_action_names[action])
        return refuse(reader, "no such action:", fields[ACTION]);
    record.event.action = (enum segment_action)action;
    if (segments->count && record.after < segments->records[segments->count - 1].after)
        return refuse(reader, "after_trace_line goes back to", fields[AFTER]);
    *GROW(segments->records, segments->count) = record;
    return 0;
}

static int read_file(const char *path, struct trace_reader *reader,
                     int (*each)(void *user, char **fields, size_t count, uint64_t line),
                     struct text *why)
{
    uint64_t line = 0;
    struct text reason = TEXT_INIT;
    int result = csv_read(path, each, reader, &line, &reason);
    if (!result && !reader->fields) {
        text_add(&reader->reason, "the file is empty");
        line = 1;
        result = -1;
    }
    if (result && line)
        text_addf(why, "%s:%" PRIu64 ": %s", path, line,
                  text_string(reader->reason.length ? &reader->reason : &reason));
    else if (result)
        text_add(why, text_string(&reason));
    text_release(&reason);
    text_release(&reader->reason);
    return result;
}

int trace_read(const char *path, struct trace *trace, struct text *why)
{
    struct trace_reader reader = {.reason = TEXT_INIT};
    const int result = read_file(path, &reader, read_trace_record, why);
    reader.trace.slots = reader.ids.slots;
    reader.trace.tagged = reader.fields == TRACE_FIELDS;
    idmap_release(&reader.ids);
    if (result)
        trace_release(&reader.trace);
    else
        *trace = reader.trace;
    return result;
}

void trace_release(struct trace *trace)
{
    for (size_t i = 0; i < trace->name_count; i++)
        free(trace->names[i]);
    free(trace->names);
    free(trace->events);
    *trace = (struct trace){0};
}

int segments_read(const char *path, struct segment_records *segments, struct text *why)
{
    struct trace_reader reader = {.reason = TEXT_INIT};
    const int result = read_file(path, &reader, read_segment_record, why);
    if (result)
        segments_release(&reader.segments);
    else
        *segments = reader.segments;
    return result;
}

void trace_write(const struct trace *trace, struct text *out)
{
    text_add(out, "op,id,bytes,stream,address\n");
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_event *event = &trace->events[i];
        const char *op = op_names[event->op];
        switch ((enum trace_op)event->op) {
        case TRACE_ALLOC:
            text_addf(out, "%s,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",\n", op, event->slot,
                      event->bytes, event->stream);
            break;
        case TRACE_FREE:
            text_addf(out, "%s,%" PRIu32 ",,,\n", op, event->slot);
            break;
        case TRACE_OOM:
            text_addf(out, "%s,,%" PRIu64 ",%" PRIu64 ",\n", op, event->bytes, event->stream);
            break;
        case TRACE_EMPTY_CACHE:
            text_addf(out, "%s,,,,\n", op);
            break;
        case TRACE_BEGIN:
        case TRACE_END:
            text_addf(out, "%s,", op);
            csv_add_text(out, trace->names[event->slot]);
            text_add(out, ",,,\n");
            break;
        }
    }
}

char *trace_segments_path(const char *trace_path)
{
    static const char ending[] = ".csv";
    size_t length = strlen(trace_path), tail = sizeof ending - 1;
    if (length >= tail && strcmp(trace_path + length - tail, ending) == 0)
        length -= tail;
    return xasprintf("%.*s.segments.csv", (int)length, trace_path);
}

void segments_release(struct segment_records *segments)
{
    free(segments->records);
    *segments = (struct segment_records){0};
}
