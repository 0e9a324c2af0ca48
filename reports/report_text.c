#include "reports/report_text.h"

#include "harness/base/units.h"
#include "harness/plan/plan.h"
#include "harness/workload/workload.h"
#include "reports/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DASH "—" /* three bytes, one column wide */

/* Lines of one table: those that run_line_group calls equal. */
struct group {
    const struct run_line *lines;
    size_t count;
    bool cards_changed; /* somewhere in the file */
    bool unfinished;    /* runs of it are left */
};

static void add_word(struct text *out, int width, const char *word)
{
    bool empty = !word || !word[0];
    text_addf(out, " %-*s", empty ? width + 2 : width, empty ? DASH : word);
}

static void add_number(struct text *out, int width, struct reading number)
{
    if (number.known)
        text_addf(out, " %*" PRIu64, width, number.value);
    else
        text_addf(out, " %*s", width + 2, DASH);
}

static const char *status_of(const struct run_line *line)
{
    return line->status < 0 ? "" : status_facts[line->status].name;
}

/* Alone every rank is 0: the place of its device tells the runs apart. */
static void add_rank(struct text *out, const struct run_line *line)
{
    char words[48];
    if (line->place == 0 || !line->rank.known) {
        add_number(out, 4, line->rank);
        return;
    }
    snprintf(words, sizeof words, "%" PRIu64 " d%" PRIu64, line->rank.value, line->place);
    text_addf(out, " %4s", words);
}

/* "split" is said only where there are whole runs too. */
static bool has_whole(const struct group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (strcmp(group->lines[i].phases, "whole") == 0)
            return true;
    return false;
}

static void add_line(struct text *out, const struct run_line *line, bool phases)
{
    const char *mark = line->partial ? ">=" : "";
    if (line->dimension[0])
        add_number(out, 12, line->value);
    else
        add_word(out, 12, line->input);
    add_number(out, 5, line->trial);
    add_rank(out, line);
    if (phases)
        add_word(out, 6, line->phases);
    add_word(out, 4, line->fits);
    add_word(out, 13, status_of(line));
    add_word(out, 14, line->failed_phase);
    text_add_peak(out, mark, line->allocated);
    text_add_peak(out, mark, line->reserved);
    text_add_peak(out, line->predicted_misfit ? ">=" : "", line->predicted);
    text_add_peak(out, "", line->device_used);
    text_add_char(out, '\n');
}

static void add_columns(struct text *out, const struct group *group)
{
    const char *first = group->lines->dimension[0] ? group->lines->dimension : "input";
    text_addf(out, " %12s %5s %4s", first, "trial", "rank");
    if (has_whole(group))
        text_addf(out, " %-6s", "phases");
    text_addf(out, " %-4s %-13s %-14s", "fits", "status", "failed in");
    text_add_peak_heading(out, "allocated peak");
    text_add_peak_heading(out, "reserved peak");
    text_add_peak_heading(out, "predicted alloc");
    text_add_peak_heading(out, "device used");
    text_add_char(out, '\n');
}

/* A run that did not reach its device does not tell its name; another run on the same device
 * may. */
static bool is_named_elsewhere(const struct group *group, const struct run_line *line)
{
    for (size_t i = 0; i < group->count && !line->device[0]; i++)
        if (group->lines[i].device[0] && group->lines[i].place == line->place &&
            reading_same(group->lines[i].rank, line->rank))
            return true;
    return false;
}

static void add_devices(struct text *out, const struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct run_line *line = &group->lines[i];
        bool said = false;
        for (size_t j = 0; j < i && !said; j++)
            said = strcmp(group->lines[j].device, line->device) == 0 &&
                   reading_same(group->lines[j].capacity, line->capacity);
        if (said || !line->capacity.known || is_named_elsewhere(group, line))
            continue;
        text_addf(out, " device %s: ", line->device[0] ? line->device : DASH);
        text_add_size(out, line->capacity.value);
        text_add(out, " in all\n");
    }
}

static void add_stretch(struct text *out, const struct group *group)
{
    if (group->lines->changes > 0)
        text_addf(out, ", cards after change %zu", group->lines->changes);
    else if (group->cards_changed)
        text_add(out, ", cards before any change");
}

static void add_group(struct text *out, const struct group *group)
{
    const struct run_line *first = group->lines;
    bool observed = strcmp(first->evidence, "observed") == 0;
    text_addf(out, "\n%s: study %s, %s%s%s, workload %s on %s",
              observed ? "observed" : "computed (nothing here was read from a device)",
              first->study, first->role, first->dimension[0] ? " of " : "", first->dimension,
              first->workload, first->backend);
    add_stretch(out, group);
    text_add_char(out, '\n');
    add_devices(out, group);
    add_columns(out, group);
    for (size_t i = 0; i < group->count; i++)
        add_line(out, &group->lines[i], has_whole(group));
    if (first->dimension[0])
        limits_add_text(group->lines, group->count, group->unfinished, out);
}

static void add_counts(struct text *out, const struct run_lines *lines)
{
    size_t fits = 0, open = 0, skipped = 0;
    bool alone = false, several = false;
    for (size_t i = 0; i < lines->count; i++) {
        alone = alone || lines->lines[i].place > 0;
        several = several || (lines->lines[i].rank.known && lines->lines[i].rank.value > 0);
        fits += strcmp(lines->lines[i].fits, "yes") == 0;
        open += lines->lines[i].status < 0;
        skipped += lines->lines[i].status == STATUS_skipped;
    }
    size_t made = lines->count - skipped;
    text_addf(out, "%zu of %zu run%s fitted%s", fits, made, made == 1 ? "" : "s",
              several ? " (a run counts once for each of its ranks)" : "");
    if (skipped)
        text_addf(out, "; %zu skipped", skipped);
    if (open)
        text_addf(out, "; %zu %s no closing row", open, open == 1 ? "has" : "have");
    if (lines->replaced)
        text_addf(out, "; %zu earlier one%s made again and left out", lines->replaced,
                  lines->replaced == 1 ? " was" : "s were");
    text_add(out,
             "\nbytes, and the same in GiB (2^30); " DASH " was not measured; >= is the "
             "last value of a phase that did not\nfinish, a lower bound; so is a predicted "
             "one, up to the request predicted to be refused\nallocated is part of reserved: "
             "never add them; device used counts every process on the card\n");
    if (alone)
        text_add(out, "dN behind a rank: a run of its own on the N-th device of the study\n");
}

/* Of each workload that has rows, once. */
static void add_cautions(struct text *out, const struct run_lines *lines)
{
    for (size_t i = 0; workloads[i]; i++) {
        bool has_rows = false;
        for (size_t j = 0; j < lines->count && !has_rows; j++)
            has_rows = strcmp(lines->lines[j].workload, workloads[i]->name) == 0;
        if (has_rows && workloads[i]->caution)
            text_addf(out, "%s\n", workloads[i]->caution);
    }
}

static void add_changes(struct text *out, const struct run_lines *lines)
{
    if (lines->changes.length == 0)
        return;
    text_add(out, "the cards changed: runs before and after are not to be compared, and stand "
                  "in tables of their own\n");
    text_add(out, text_string(&lines->changes));
}

static bool is_unfinished(const struct report_study *study, const struct run_line *line)
{
    int dimension = dimension_find(line->dimension);
    for (int role = 0; study && dimension >= 0 && role <= ROLE_INPUT; role++)
        if (strcmp(line->role, plan_role_names[role]) == 0)
            return study->unfinished[role] >> dimension & 1u;
    return false;
}

int report_text(const char *path, const struct report_study *study, struct text *out,
                struct text *why)
{
    struct run_lines lines;
    struct text tear = TEXT_INIT;
    uint64_t rows;
    if (run_lines_read(path, &lines, &rows, &tear, why) != 0) {
        text_release(&tear);
        return -1;
    }
    text_addf(out, "%s: %" PRIu64 " row%s%s%s\n", path, rows, rows == 1 ? "" : "s",
              study ? "; " : "", study ? study->progress : "");
    if (tear.length)
        text_addf(out, "%s; it is left out\n", text_string(&tear));
    if (lines.count)
        add_counts(out, &lines);
    add_cautions(out, &lines);
    add_changes(out, &lines);
    for (size_t i = 0, next; i < lines.count; i = next) {
        for (next = i + 1; next < lines.count; next++)
            if (run_line_group(&lines.lines[i], &lines.lines[next]) != 0)
                break;
        add_group(out, &(struct group){.lines = &lines.lines[i],
                                       .count = next - i,
                                       .cards_changed = lines.changes.length > 0,
                                       .unfinished = is_unfinished(study, &lines.lines[i])});
    }
    run_lines_release(&lines);
    text_release(&tear);
    return 0;
}
