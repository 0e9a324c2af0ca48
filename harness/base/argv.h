/* words: a command line that grows; each word is owned. */
#ifndef HIGHWATER_BASE_ARGV_H
#define HIGHWATER_BASE_ARGV_H

#include "harness/base/option.h"

struct words {
    char **word; /* NULL-terminated once anything was added */
    size_t count;
};
#define WORDS_INIT {NULL, 0}
void words_add(struct words *words, const char *word);
void words_addf(struct words *words, const char *format, ...) PRINTF_LIKE(2, 3);
void words_append(struct words *words, const struct words *more);
/* "--name=value" if the option has a value; the same for every option of a table. */
void words_add_option(struct words *words, const struct option *option, const void *target);
void words_add_options(struct words *words, const struct option *table, const void *target);
/* Appends a word for a shell, quoted where needed; all of them, separated by blanks. */
void word_quote(const char *word, struct text *out);
void words_quote(const struct words *words, struct text *out);
void words_release(struct words *words);

#endif
