/* How truth tables of verdicts are written down: statuses as letters, equal cases in one line.
 */
#ifndef TESTS_UNIT_VERDICT_BED_H
#define TESTS_UNIT_VERDICT_BED_H

#include "harness/record/row.h"
#include "tests/unit/verdict/kinds_bed.h"

#include <stdlib.h>
#include <string.h>

#define LETTERS_LEGEND                                                                         \
    "O ok M oom S oom_suspected H host_oom E error C crashed T timeout P stopped A adapted "   \
    "Z spilled\n# D dirty L device_lost F launch_failed I interrupted K skipped "              \
    "N not_reached; behind it m: refused by message, h: by host"

static inline char status_letter(enum status status)
{
    static const char letters[] = {[STATUS_ok] = 'O',
                                   [STATUS_oom] = 'M',
                                   [STATUS_oom_suspected] = 'S',
                                   [STATUS_host_oom] = 'H',
                                   [STATUS_error] = 'E',
                                   [STATUS_crashed] = 'C',
                                   [STATUS_timeout] = 'T',
                                   [STATUS_stopped] = 'P',
                                   [STATUS_adapted] = 'A',
                                   [STATUS_spilled] = 'Z',
                                   [STATUS_dirty] = 'D',
                                   [STATUS_device_lost] = 'L',
                                   [STATUS_launch_failed] = 'F',
                                   [STATUS_interrupted] = 'I',
                                   [STATUS_skipped] = 'K',
                                   [STATUS_not_reached] = 'N'};
    return status >= 0 && (size_t)status < sizeof letters && letters[status] != '\0'
               ? letters[status]
               : '?';
}

/* --- runs of equal letters: O12M3 --- */

struct letters {
    char last[3];
    size_t times;
};
#define LETTERS_INIT                                                                           \
    {                                                                                          \
        .times = 0                                                                             \
    }

static inline void letters_flush(struct letters *letters, struct text *out)
{
    if (letters->times > 0)
        text_addf(out, "%s%zu", letters->last, letters->times);
    letters->times = 0;
}

static inline void letters_add(struct letters *letters, enum status status,
                               const char *refused_by, struct text *out)
{
    char now[3] = {status_letter(status), '\0', '\0'};
    if (refused_by != NULL)
        now[1] = strcmp(refused_by, "message") == 0 ? 'm'
                 : strcmp(refused_by, "host") == 0  ? 'h'
                                                    : '?';
    if (letters->times > 0 && strcmp(now, letters->last) != 0)
        letters_flush(letters, out);
    memcpy(letters->last, now, sizeof now);
    letters->times++;
}

static inline void letters_end(struct letters *letters, struct text *out)
{
    letters_flush(letters, out);
    text_add_char(out, ' ');
}

/* --- a row --- */

#define ROW_OF_VERDICT_LEGEND                                                                  \
    "phase=status, and of fits, partial, failed_phase, refused_by, refused_bytes,\n# "         \
    "free_bytes_at_failure, exit_code, signal, error, warning, predicted_fits those that "     \
    "are there"

static inline void add_row_of_verdict(const struct row *row, struct text *out)
{
    static const enum column told[] = {
        COLUMN_fits,       COLUMN_partial,       COLUMN_failed_phase,
        COLUMN_refused_by, COLUMN_refused_bytes, COLUMN_free_bytes_at_failure,
        COLUMN_exit_code,  COLUMN_signal,        COLUMN_error,
        COLUMN_warning,    COLUMN_predicted_fits};
    const char *phase = row_text(row, COLUMN_phase), *status = row_text(row, COLUMN_status);
    text_addf(out, " %s=%s", phase != NULL ? phase : "-", status != NULL ? status : "-");
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        struct text cell = TEXT_INIT;
        row_format_cell(row, told[i], &cell);
        if (cell.length > 0)
            text_addf(out, " %s=[%s]", column_facts[told[i]].name, text_string(&cell));
        text_release(&cell);
    }
    text_add(out, ";");
}

#endif
