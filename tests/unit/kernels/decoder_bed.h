/* A run of the decoder, its options and its files. */
#ifndef HIGHWATER_TESTS_DECODER_BED_H
#define HIGHWATER_TESTS_DECODER_BED_H

#include "harness/base/json.h"
#include "kernels/workloads/decoder.h"
#include "tests/unit/kernels/model_files.h"
#include "tests/unit/recorder.h"

#include <unistd.h>

/* --- running ------------------------------------------------------------------------------ */

struct bed {
    struct setting setting;
    struct decoder_options options;
    char folder[64], prompt[96], answer[96];
    struct recorder recorder;
};

static void set_up(struct bed *bed, const char *model, uint64_t batch, uint64_t sequences,
                   uint64_t context, uint64_t generated)
{
    struct model_config shape;
    struct text why = TEXT_INIT;
    *bed = (struct bed){.folder = "/tmp/highwater-decoder-XXXXXX"};
    assert_non_null(mkdtemp(bed->folder));
    snprintf(bed->prompt, sizeof(bed->prompt), "%s/prompt.json", bed->folder);
    snprintf(bed->answer, sizeof(bed->answer), "%s/answer.json", bed->folder);
    bed->setting = setting_of(batch, context, 4096, sequences);
    bed->setting.workload = workload_find("decoder");
    bed->setting.dtype = DTYPE_float32;
    bed->setting.options = &bed->options;
    bed->setting.point.value[DIMENSION_generated] = reading_of(generated);
    bed->setting.point.value[DIMENSION_layers] = reading_of(32);
    option_defaults(decoder_options, &bed->options);
    free(bed->options.model);
    bed->options.model = xstrdup(model ? model : bed->folder);
    if (model_config_read(bed->options.model, &shape, &why) == 0) {
        bed->setting.point.value[DIMENSION_width] = reading_of(shape.width);
        bed->setting.point.value[DIMENSION_layers] = reading_of(shape.layers);
    }
    text_release(&why);
}

static void tear_down(struct bed *bed)
{
    struct text why = TEXT_INIT;
    forget(&bed->recorder);
    option_release(decoder_options, &bed->options);
    assert_int_equal(folder_remove(bed->folder, &why), 0);
    text_release(&why);
}

static void ask(struct bed *bed, const char *prompt)
{
    unlink(bed->answer);
    free(bed->options.prompt);
    free(bed->options.answer);
    bed->options.prompt = xstrdup(prompt);
    bed->options.answer = xstrdup(bed->answer);
}

static const struct row *phase_row(const struct bed *bed, const char *phase)
{
    for (size_t i = 0; i < bed->recorder.count; i++)
        if (strcmp(row_text(&bed->recorder.rows[i], COLUMN_phase), phase) == 0)
            return &bed->recorder.rows[i];
    fail_msg("no phase %s", phase);
    return NULL;
}

static void run_ok(struct bed *bed, const char *backend)
{
    forget(&bed->recorder);
    enum status status = run(&bed->setting, backend, &bed->recorder);
    if (status != STATUS_ok)
        print_error("%s\n",
                    row_text(&bed->recorder.rows[bed->recorder.count - 1], COLUMN_error));
    assert_int_equal(status, STATUS_ok);
}

#endif
