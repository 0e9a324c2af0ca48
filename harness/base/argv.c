#include "harness/base/argv.h"

#include <stdlib.h>
#include <string.h>

static void add_owned(struct words *words, char *word)
{
    *GROW(words->word, words->count) = word;
    *GROW(words->word, words->count) = NULL;
    words->count--;
}

void words_add(struct words *words, const char *word)
{
    add_owned(words, xstrdup(word));
}

void words_addf(struct words *words, const char *format, ...)
{
    struct text word = TEXT_INIT;
    va_list arguments;
    va_start(arguments, format);
    text_addv(&word, format, arguments);
    va_end(arguments);
    add_owned(words, word.length > 0 ? text_detach(&word) : xstrdup(""));
}

void words_append(struct words *words, const struct words *more)
{
    for (size_t i = 0; i < more->count; i++)
        words_add(words, more->word[i]);
}

void words_add_option(struct words *words, const struct option *option, const void *target)
{
    struct text value = TEXT_INIT;
    option_format(option, target, &value);
    if (value.length > 0) {
        words_addf(words, "--%s=%s", option->name, text_string(&value));
        for (char *c = words->word[words->count - 1]; *c != '\0' && *c != '='; c++)
            if (*c == '_')
                *c = '-';
    }
    text_release(&value);
}

void words_add_options(struct words *words, const struct option *table, const void *target)
{
    for (const struct option *option = table; option->name != NULL; option++)
        words_add_option(words, option, target);
}

void word_quote(const char *word, struct text *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,+@%^";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        text_add(out, word);
        return;
    }
    text_add_char(out, '\'');
    for (const char *c = word; *c != '\0'; c++) {
        if (*c == '\'')
            text_add(out, "'\\''");
        else
            text_add_char(out, *c);
    }
    text_add_char(out, '\'');
}

void words_quote(const struct words *words, struct text *out)
{
    for (size_t i = 0; i < words->count; i++) {
        if (i > 0)
            text_add_char(out, ' ');
        word_quote(words->word[i], out);
    }
}

void words_release(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->word[i]);
    free(words->word);
    *words = (struct words){.word = NULL};
}
