#include "kernels/workloads/decoder_files.h"
#include "harness/base/file.h"
#include "harness/base/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_SHOWN = 20 };

/* --- faults ------------------------------------------------------------------------------- */

/* Starts a line of the list, NULL past the number shown. */
static struct text *fault(struct decoder_files *files)
{
    files->fault_count++;
    if (files->fault_count > FAULTS_SHOWN)
        return NULL;
    text_add(files->faults, files->faults->length ? "\n" : "");
    return files->faults;
}

/* "FILE: tensor NAME" */
static struct text *fault_of(struct decoder_files *files,
                             const struct safetensors_tensor *tensor)
{
    struct text *line = fault(files);
    if (!line)
        return NULL;
    text_addf(line, "%s: tensor ", files->set.files[tensor->file].path);
    text_add_escaped(line, tensor->name, strlen(tensor->name), 120);
    return line;
}

static void is_missing(struct decoder_files *files, const char *name)
{
    struct text *line = fault(files);
    if (line)
        text_addf(line, "%s: tensor %s is missing%s", files->options->model, name,
                  strcmp(name, DECODER_HEAD) == 0
                      ? ", and config.json does not tie it to the embedding"
                      : "");
}

void decoder_files_need(struct decoder_files *files, const char *name, uint64_t rows,
                        uint64_t features)
{
    const struct safetensors_tensor *found = safetensors_find(&files->set, name);
    size_t rank = features ? 2 : 1;
    struct text *line;
    if (!found) {
        is_missing(files, name);
        return;
    }
    files->taken[found - files->set.tensors] = true;
    if (found->rank != rank || found->shape[0] != rows ||
        (rank == 2 && found->shape[1] != features)) {
        line = fault_of(files, found);
        if (line) {
            text_add(line, " has shape ");
            safetensors_add_shape(found, line);
            text_addf(line, ", the network needs [%" PRIu64, rows);
            if (rank == 2)
                text_addf(line, ", %" PRIu64, features);
            text_add_char(line, ']');
        }
    } else if (found->dtype != SAFETENSORS_F32 && found->dtype != SAFETENSORS_F16 &&
               found->dtype != SAFETENSORS_BF16) {
        line = fault_of(files, found);
        if (line)
            text_addf(line, ": weights of dtype %s cannot be computed with",
                      safetensors_dtype_name(found->dtype));
    }
}

/* A tensor that nothing asked for would make another network: it is named. Of tied matrices the
 * file may hold both, and old files hold the rotary frequencies. */
static void compare_rest(struct decoder_files *files)
{
    for (size_t i = 0; i < files->set.tensor_count; i++) {
        const struct safetensors_tensor *tensor = &files->set.tensors[i];
        size_t length = strlen(tensor->name);
        bool frequencies = length > 8 && strcmp(tensor->name + length - 8, "inv_freq") == 0;
        bool tied = files->shape->tied_embeddings && strcmp(tensor->name, DECODER_HEAD) == 0;
        if (files->taken[i] || frequencies || tied)
            continue;
        struct text *line = fault_of(files, tensor);
        if (line)
            text_addf(line, " belongs to no part of %s as config.json describes it",
                      files->shape->architecture);
    }
}

static int compare(struct decoder_files *files, struct text *why)
{
    files->taken = xcalloc(files->set.tensor_count + 1, sizeof *files->taken);
    files->faults = why;
    decoder_weights_need(files);
    compare_rest(files);
    if (files->fault_count > FAULTS_SHOWN)
        text_addf(why, "\nand %zu more", files->fault_count - FAULTS_SHOWN);
    free(files->taken);
    files->taken = NULL;
    return files->fault_count ? -1 : 0;
}

/* --- the folder --------------------------------------------------------------------------- */

static void add_oddities(struct decoder_files *files)
{
    const struct safetensors_tensor *head = safetensors_find(&files->set, DECODER_HEAD);
    text_add(&files->odd, text_string(&files->set.issues));
    if (head && files->shape->tied_embeddings)
        text_addf(&files->odd,
                  "%s%s: tensor " DECODER_HEAD " is not used: config.json ties the head to the "
                  "embedding",
                  files->odd.length ? "\n" : "", files->set.files[head->file].path);
}

/* A folder without weights (config.json alone) gets generated ones of that shape. */
static bool has_weights(const char *folder)
{
    char *single = xasprintf("%s/model.safetensors", folder);
    char *index = xasprintf("%s/model.safetensors.index.json", folder);
    bool there = file_exists(single) || file_exists(index);
    free(single);
    free(index);
    return there;
}

int decoder_files_open(const struct decoder_options *options, const struct model_config *shape,
                       struct decoder_files *files, struct text *why)
{
    *files = (struct decoder_files){.options = options, .shape = shape};
    files->there = has_weights(options->model);
    if (!files->there) {
        text_add(&files->odd, "weights are generated: the model's folder holds none");
        return 0;
    }
    if (safetensors_open_folder(options->model, &files->set, why) != 0)
        return -1;
    if (!files->set.complete)
        return text_fail(why, "%s: index and shards disagree:\n%s", options->model,
                         text_string(&files->set.issues));
    add_oddities(files);
    return compare(files, why);
}

void decoder_files_release(struct decoder_files *files)
{
    safetensors_release(&files->set);
    text_release(&files->odd);
}

/* --- before a study runs ------------------------------------------------------------------ */

static void add_shape(const struct model_config *shape, struct text *notes)
{
    text_addf(notes,
              "width %" PRIu64 ", %" PRIu64 " layers, %" PRIu64 " heads and %" PRIu64
              " key-value heads of %" PRIu64 ", intermediate %" PRIu64 ", vocabulary %" PRIu64
              ": %" PRIu64 " parameters",
              shape->width, shape->layers, shape->heads, shape->kv_heads, shape->head_dim,
              shape->intermediate, shape->vocabulary, model_config_parameters(shape));
}

/* A point that is only a frame for others (its width is swept) need not be possible itself. */
static void add_rule(const struct point *point, const struct decoder_options *options,
                     struct text *notes)
{
    struct model_config shape;
    text_add(notes, decoder_rule);
    if (decoder_shape(point, options, &shape, NULL) == 0) {
        text_add(notes, "\nso at the point's width and layers: ");
        add_shape(&shape, notes);
    }
}

static void add_model(const struct decoder_files *files, struct text *notes)
{
    const struct model_config *shape = files->shape;
    text_addf(notes, "decoder of %s: %s, ", files->options->model, shape->architecture);
    add_shape(shape, notes);
    if (files->there)
        text_addf(notes, ", read from %zu file%s", files->set.file_count,
                  files->set.file_count == 1 ? "" : "s");
    if (shape->notes[0])
        text_addf(notes, "\nconfig.json: %s", shape->notes);
    size_t at = 0, length;
    for (const char *line; (line = text_line(&files->odd, &at, &length)) != NULL;)
        text_addf(notes, "\nwarning: %.*s", (int)length, line);
}

int decoder_look(const struct point *point, const void *options, struct text *notes,
                 struct text *why)
{
    const struct decoder_options *of = options;
    struct model_config shape;
    struct decoder_files files;
    if (!decoder_has_model(of)) {
        add_rule(point, of, notes);
        return 0;
    }
    if (model_config_read(of->model, &shape, why) != 0)
        return -1;
    int result = decoder_files_open(of, &shape, &files, why);
    if (result == 0)
        add_model(&files, notes);
    decoder_files_release(&files);
    return result;
}

/* --- while a study runs ------------------------------------------------------------------- */

static int add_file(const char *folder, const char *name, bool needed, struct text *facts,
                    struct text *why)
{
    char *path = xasprintf("%s/%s", folder, name);
    struct text bytes = TEXT_INIT;
    int result = 0;
    if (needed || file_exists(path))
        result = file_read(path, SAFETENSORS_HEADER_LIMIT, &bytes, why);
    text_addf(facts, "%s %zu\n", name, bytes.length);
    text_add_bytes(facts, bytes.data, bytes.length);
    text_release(&bytes);
    free(path);
    return result;
}

static void add_shards(const struct safetensors *set, struct text *facts)
{
    for (size_t i = 0; i < set->file_count; i++)
        text_addf(facts, "%s %" PRIu64 "\n", set->files[i].path, set->files[i].bytes);
    for (size_t i = 0; i < set->tensor_count; i++) {
        const struct safetensors_tensor *tensor = &set->tensors[i];
        text_addf(facts, "%s %s %zu %" PRIu64 " ", tensor->name,
                  safetensors_dtype_name(tensor->dtype), tensor->file, tensor->offset);
        safetensors_add_shape(tensor, facts);
    }
}

int model_fingerprint(const void *options, struct text *out, struct text *why)
{
    const struct decoder_options *of = options;
    struct safetensors set = {.files = NULL};
    struct text facts = TEXT_INIT;
    if (!decoder_has_model(of))
        return 0;
    int result = add_file(of->model, "config.json", true, &facts, why);
    if (result == 0)
        result = add_file(of->model, "model.safetensors.index.json", false, &facts, why);
    if (result == 0 && has_weights(of->model))
        result = safetensors_open_folder(of->model, &set, why);
    add_shards(&set, &facts);
    if (result == 0)
        text_addf(out, "m-%016" PRIx64 " of %s", hash_add(HASH_START, facts.data, facts.length),
                  of->model);
    safetensors_release(&set);
    text_release(&facts);
    return result;
}
