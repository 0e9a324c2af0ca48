#include "harness/command/command.h"

#include "harness/base/units.h"
#include "harness/drive/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_value(const char *key, const struct json *value, int depth, struct text *out);

static void print_members(const struct json *value, int depth, struct text *out)
{
    const char *key = NULL;
    const struct json *member = NULL;
    while (json_next(value, &key, &member))
        print_value(key, member, depth, out);
}

static void add_scalar(const struct json *value, struct text *out)
{
    uint64_t count;
    double real;
    bool flag;
    const char *string = json_text(value);
    if (string)
        text_add_escaped(out, string, strlen(string), 0);
    else if (json_count(value, &count) == 0)
        text_addf(out, "%" PRIu64, count);
    else if (json_number(value, &real) == 0)
        text_addf(out, "%g", real);
    else if (json_flag(value, &flag) == 0)
        text_add(out, flag ? "yes" : "no");
    else
        text_add(out, "—");
}

/* Bytes for people: the same in GB and GiB behind them. */
static void add_units(const char *key, const struct json *value, struct text *out)
{
    static const char ending[] = "_bytes";
    size_t length = strlen(key), tail = sizeof ending - 1;
    uint64_t bytes;
    if (length <= tail || strcmp(key + length - tail, ending) != 0 ||
        json_count(value, &bytes) != 0)
        return;
    text_add(out, " = ");
    text_add_gb(out, bytes);
    text_add(out, " = ");
    text_add_gib(out, bytes);
}

/* The document as an outline: objects indented under their key, list elements under a number.
 */
static void print_value(const char *key, const struct json *value, int depth, struct text *out)
{
    text_addf(out, "%*s%s", 2 * depth, "", key);
    if (json_is_object(value)) {
        text_add_char(out, '\n');
        print_members(value, depth + 1, out);
    } else if (json_is_array(value)) {
        text_add(out, json_length(value) ? "\n" : ": none\n");
        for (size_t i = 0; i < json_length(value); i++) {
            char number[24];
            snprintf(number, sizeof number, "%zu", i + 1);
            print_value(number, json_at(value, i), depth + 1, out);
        }
    } else {
        text_add(out, ": ");
        add_scalar(value, out);
        add_units(key, value, out);
        text_add_char(out, '\n');
    }
}

static int run(struct command_call *call)
{
    const struct output_option *to = call->options;
    struct json *document = environment_gather(call->command_line, "");
    if (to->json)
        json_write(document, &call->out);
    else
        print_members(document, 0, &call->out);
    json_release(document);
    return EXIT_SUCCESS;
}

static const struct option_part parts[] = {{.table = output_options}, {.table = NULL}};
const struct command command_environment = {
    .name = "environment",
    .summary = "devices, driver, CUDA, cuBLAS, MPI, allocator settings, host",
    .about =
        "Opens no device itself: devices are read through NVML, versions of CUDA and cuBLAS\n"
        "are asked of highwater-workload. What nobody could tell is shown as —.",
    .options_size = sizeof(struct output_option),
    .parts = parts,
    .run = run,
};
