#include "harness/workload/speaker.h"

#include "harness/base/units.h"
#include "harness/record/line.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

int speaker_open(struct speaker *speaker, const char *phases_path, struct text *why)
{
    struct speaker opened = {.phases = -1};
    if (phases_path && phases_path[0]) {
        opened.phases = open(phases_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (opened.phases < 0)
            return text_fail(why, "%s: %s", phases_path, strerror(errno));
    }
    *speaker = opened;
    return 0;
}

static const char *word(const struct row *row, enum column column)
{
    const char *value = row_text(row, column);
    return value ? value : "";
}

static void add_hello(struct text *out, const struct row *row)
{
    text_addf(out, "%s on %s (%s)%s%s, allocator %s, %s\n", word(row, COLUMN_workload),
              word(row, COLUMN_backend), word(row, COLUMN_evidence),
              word(row, COLUMN_device_name)[0] ? ": " : "", word(row, COLUMN_device_name),
              word(row, COLUMN_allocator), word(row, COLUMN_dtype));
    text_addf(out, "%-22s %-9s", "phase", "status");
    text_add_peak_heading(out, "allocated peak");
    text_addf(out, " %*s", UNITS_BYTES, "allocated end");
    text_add_peak_heading(out, "reserved peak");
    text_addf(out, " %*s %15s\n", UNITS_BYTES, "reserved end", "duration ns");
}

static void add_phase(struct text *out, const struct row *row)
{
    const char *mark = row_status(row) == STATUS_ok ? "" : ">=";
    struct text name = TEXT_INIT;
    struct reading repeat = row_count(row, COLUMN_repeat);
    text_add(&name, word(row, COLUMN_phase));
    if (repeat.known)
        text_addf(&name, " %" PRIu64, repeat.value);
    text_addf(out, "%-22s %-9s", text_string(&name), word(row, COLUMN_status));
    text_add_peak(out, mark, row_count(row, COLUMN_allocated_peak_bytes));
    text_add_bytes_cell(out, "", row_count(row, COLUMN_allocated_end_bytes));
    text_add_peak(out, mark, row_count(row, COLUMN_reserved_peak_bytes));
    text_add_bytes_cell(out, "", row_count(row, COLUMN_reserved_end_bytes));
    text_add_bytes_cell(out, "", row_count(row, COLUMN_duration_ns));
    text_add_char(out, '\n');
    text_release(&name);
}

void speaker_line(void *user, const char *verb, const struct row *row)
{
    struct speaker *speaker = user;
    bool failed = strcmp(verb, "fail") == 0;
    if (failed && speaker->error.length == 0)
        text_addf(&speaker->error, "%s: %s: %s", word(row, COLUMN_phase),
                  word(row, COLUMN_status), word(row, COLUMN_error));
    if (speaker->phases >= 0 && speaker->why.length == 0) {
        int outcome = line_append(speaker->phases, verb, row, &speaker->why);
        if (outcome != 0 && speaker->why.length == 0)
            text_add(&speaker->why, "a phase line could not be written");
    } else if (strcmp(verb, "hello") == 0) {
        add_hello(&speaker->table, row);
    } else if (failed || strcmp(verb, "end") == 0) {
        add_phase(&speaker->table, row);
    }
}

void speaker_bye(struct speaker *speaker)
{
    if (speaker->phases >= 0 && speaker->why.length == 0 &&
        line_append(speaker->phases, "bye", NULL, &speaker->why) != 0 &&
        speaker->why.length == 0)
        text_add(&speaker->why, "the last phase line could not be written");
}

void speaker_close(struct speaker *speaker)
{
    if (speaker->phases >= 0)
        close(speaker->phases);
    text_release(&speaker->table);
    text_release(&speaker->error);
    text_release(&speaker->why);
}
