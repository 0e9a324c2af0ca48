#include "harness/study/complaints.h"

#include <stdlib.h>
#include <string.h>

static char *kept(const char *name)
{
    return name ? xstrdup(name) : NULL;
}

static void add(struct complaints *complaints, struct complaint complaint, const char *format,
                va_list arguments)
{
    if (complaints->count == COMPLAINTS_LIMIT) {
        complaints->dropped++;
        free(complaint.section);
        free(complaint.key);
        return;
    }
    struct text reason = TEXT_INIT;
    text_addv(&reason, format, arguments);
    complaint.reason = text_detach(&reason);
    *GROW(complaints->list, complaints->count) = complaint;
}

void complain(struct complaints *complaints, enum complaint_kind kind, struct subject about,
              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(complaints,
        (struct complaint){.kind = kind,
                           .section = kept(about.section),
                           .key = kept(about.key),
                           .line = about.line},
        format, arguments);
    va_end(arguments);
}

void complain_of_override(struct complaints *complaints, size_t override, const char *format,
                          ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(complaints, (struct complaint){.kind = COMPLAINT_FORM, .override = override}, format,
        arguments);
    va_end(arguments);
}

bool complaints_about(const struct complaints *complaints, const char *section)
{
    for (size_t i = 0; i < complaints->count; i++) {
        const struct complaint *one = &complaints->list[i];
        bool whole = one->kind == COMPLAINT_TWICE && !one->key;
        if (one->section && strcmp(one->section, section) == 0 && !whole)
            return true;
    }
    return false;
}

/* A complaint about a line that an override wrote is one about the override. */
static void resolve(struct complaint *complaint, const struct origin *origins, size_t lines)
{
    if (complaint->override || complaint->line == 0 || complaint->line > lines)
        return;
    complaint->override = origins[complaint->line - 1].override;
    complaint->line = origins[complaint->line - 1].line;
}

static int compare(const struct complaint *a, const struct complaint *b)
{
    if (a->override != b->override)
        return a->override < b->override ? -1 : 1;
    if (a->override == 0 && a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return 0;
}

/* Insertion keeps complaints about one line in the order in which they were found. */
static void sort(struct complaint *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct complaint moving = list[i];
        size_t place = i;
        while (place > 0 && compare(&moving, &list[place - 1]) < 0) {
            list[place] = list[place - 1];
            place--;
        }
        list[place] = moving;
    }
}

void complaints_print(struct complaints *complaints, const char *name,
                      const struct origin *origins, size_t lines, const char *flag,
                      const char *const *overrides, struct text *out)
{
    for (size_t i = 0; i < complaints->count; i++)
        resolve(&complaints->list[i], origins, lines);
    sort(complaints->list, complaints->count);
    for (size_t i = 0; i < complaints->count; i++) {
        const struct complaint *one = &complaints->list[i];
        if (out->length > 0 && out->data[out->length - 1] != '\n')
            text_add_char(out, '\n');
        if (one->override) {
            const char *override = overrides[one->override - 1];
            text_addf(out, "%s%s", flag ? flag : "", flag ? " " : "");
            text_add_escaped(out, override, strlen(override), 120);
            text_addf(out, ": %s", one->reason);
        } else if (!flag) {
            text_addf(out, "%s: %s", name, one->reason);
        } else {
            text_addf(out, "%s:%zu: %s", name, one->line ? one->line : 1, one->reason);
        }
    }
    if (complaints->dropped)
        text_addf(out, "\n%s: %zu more errors", name, complaints->dropped);
}

void complaints_release(struct complaints *complaints)
{
    for (size_t i = 0; i < complaints->count; i++) {
        free(complaints->list[i].section);
        free(complaints->list[i].key);
        free(complaints->list[i].reason);
    }
    free(complaints->list);
    *complaints = (struct complaints){.list = NULL};
}
