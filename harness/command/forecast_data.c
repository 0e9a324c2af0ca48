#include "harness/command/forecast_data.h"
#include "harness/base/json.h"
#include "harness/record/table.h"

/* --- CSV: a line per card, value and phase; phase "" is the whole of it --- */

static void add_cell(struct text *out, struct reading value)
{
    text_add_char(out, ',');
    if (value.known)
        csv_add_count(out, value.value);
}

static void add_text_cell(struct text *out, const char *value)
{
    text_add_char(out, ',');
    if (value[0])
        csv_add_text(out, value);
}

static void add_range_cells(struct text *out, const struct bounds *range)
{
    add_cell(out, range->least);
    add_cell(out, range->most);
}

static const struct foretold_version *failed_version(const struct foretold *f)
{
    for (size_t i = 0; i < f->version_count; i++) {
        if (!f->versions[i].fits)
            return &f->versions[i];
    }
    return NULL;
}

static void add_csv_start(const struct forecast_view *view, const struct forecast_card *card,
                          const struct foretold *f, const char *role, struct text *out)
{
    csv_add_text(out, role);
    add_text_cell(out, view->dimension);
    add_cell(out, reading_of(f->value));
    add_text_cell(out, card->name);
    add_cell(out, card->capacity);
    add_cell(out, card->outside);
    add_text_cell(out, view->allocator);
}

static void add_csv_foretold(const struct forecast_view *view, const struct forecast_card *card,
                             const struct foretold *f, const char *role, struct text *out)
{
    const struct foretold_version *failed = failed_version(f);
    struct text reach = TEXT_INIT, sources = TEXT_INIT;
    forecast_add_reach(view, f->value, &reach);
    forecast_add_sources(view, &sources);
    for (size_t i = 0; i <= f->phase_count; i++) {
        const struct foretold_phase *phase = i ? &f->phases[i - 1] : NULL;
        struct bounds retries = {reading_missing(), reading_missing()};
        if (!phase && f->phase_count)
            retries = f->phases[f->phase_count - 1].retries;
        add_csv_start(view, card, f, role, out);
        add_text_cell(out, phase ? phase->name : "");
        add_text_cell(out, phase ? (phase->refused ? "oom" : "ok") : forecast_verdict(card, f));
        add_range_cells(out, phase ? &phase->allocated_peak : &f->allocated_peak);
        add_range_cells(out, phase ? &phase->reserved_peak : &f->reserved_peak);
        add_range_cells(out, phase ? &phase->retries : &retries);
        add_cell(out, !phase && failed ? reading_of(failed->refusal.bytes) : reading_missing());
        add_text_cell(out, text_string(&reach));
        add_text_cell(out, "computed");
        add_text_cell(out, text_string(&sources));
        text_add_char(out, '\n');
    }
    text_release(&reach);
    text_release(&sources);
}

void forecast_data_add_csv(const struct forecast_view *view, struct text *out)
{
    text_add(out, "role,dimension,value,card,capacity,outside,allocator,phase,status,"
                  "allocated_peak_least,allocated_peak_most,reserved_peak_least,"
                  "reserved_peak_most,retries_least,retries_most,refused_bytes,reach,evidence,"
                  "sources\n");
    for (size_t i = 0; i < view->card_count; i++) {
        const struct forecast_card *card = &view->cards[i];
        for (size_t k = 0; k < view->value_count; k++)
            add_csv_foretold(view, card, &card->values[k], "asked", out);
        if (card->limited && !card->limit.none)
            add_csv_foretold(view, card, &card->limit.fits, "fits", out);
        if (card->limited && !card->limit.endless)
            add_csv_foretold(view, card, &card->limit.beyond, "beyond", out);
    }
}

/* --- JSON --- */

static void set_range(struct json *object, const char *key, const struct bounds *range)
{
    struct json *both = json_make_object();
    json_set_reading(both, "least", range->least);
    json_set_reading(both, "most", range->most);
    json_set(object, key, both);
}

static struct json *phases_of(const struct foretold *f)
{
    struct json *array = json_make_array();
    for (size_t i = 0; i < f->phase_count; i++) {
        const struct foretold_phase *phase = &f->phases[i];
        struct json *object = json_make_object();
        json_set_text(object, "phase", phase->name);
        json_set_text(object, "status", phase->refused ? "oom" : "ok");
        set_range(object, "allocated_peak", &phase->allocated_peak);
        set_range(object, "reserved_peak", &phase->reserved_peak);
        set_range(object, "alloc_retries", &phase->retries);
        json_append(array, object);
    }
    return array;
}

static struct json *versions_of(const struct foretold *f)
{
    struct json *array = json_make_array();
    for (size_t i = 0; i < f->version_count; i++) {
        const struct foretold_version *version = &f->versions[i];
        struct json *object = json_make_object();
        json_set_flag(object, "fits", version->fits);
        json_set_count(object, "alloc_retries", version->retries);
        json_set_text(object, "failed_phase", version->failed_phase);
        json_set_text(object, "refused_by", version->fits ? NULL : version->refusal.by);
        json_set_reading(object, "refused_bytes",
                         version->fits ? reading_missing()
                                       : reading_of(version->refusal.bytes));
        json_set_reading(object, "free_bytes",
                         version->fits ? reading_missing() : version->refusal.free);
        json_append(array, object);
    }
    return array;
}

static struct json *foretold_json(const struct forecast_view *view,
                                  const struct forecast_card *card, const struct foretold *f)
{
    struct json *object = json_make_object();
    struct text reach = TEXT_INIT;
    forecast_add_reach(view, f->value, &reach);
    json_set_count(object, "value", f->value);
    json_set_text(object, "evidence", "computed");
    json_set_text(object, "verdict", card->capacity.known ? forecast_verdict(card, f) : NULL);
    json_set_text(object, "reach", text_string(&reach));
    set_range(object, "allocated_peak", &f->allocated_peak);
    set_range(object, "reserved_peak", &f->reserved_peak);
    json_set_text(object, "peak_phase", f->phase_count ? f->phases[f->peak_phase].name : NULL);
    json_set(object, "phases", phases_of(f));
    json_set(object, "versions", versions_of(f));
    text_release(&reach);
    return object;
}

static struct json *limit_json(const struct forecast_view *view,
                               const struct forecast_card *card)
{
    const struct foretold_limit *limit = &card->limit;
    struct json *object = json_make_object();
    json_set_count(object, "step", limit->step);
    json_set_count(object, "values_played", limit->tried);
    json_set_reading(object, "may_fit", limit->most);
    json_set(object, "fits",
             limit->none ? json_make_object() : foretold_json(view, card, &limit->fits));
    json_set(object, "beyond",
             limit->endless ? json_make_object() : foretold_json(view, card, &limit->beyond));
    return object;
}

static struct json *card_json(const struct forecast_view *view,
                              const struct forecast_card *card)
{
    struct json *object = json_make_object(), *values = json_make_array();
    json_set_text(object, "card", card->name);
    json_set_reading(object, "capacity", card->capacity);
    json_set_reading(object, "outside", card->outside);
    for (size_t k = 0; k < view->value_count; k++)
        json_append(values, foretold_json(view, card, &card->values[k]));
    json_set(object, "values", values);
    if (card->limited)
        json_set(object, "limit", limit_json(view, card));
    return object;
}

static struct json *checks_json(const struct forecast_view *view)
{
    struct json *array = json_make_array();
    for (size_t i = 0; view->checks && i < view->take_count; i++) {
        const struct foretold_check *check = &view->checks[i];
        struct json *object = json_make_object();
        json_set_count(object, "value", check->value);
        json_set_text(object, "refused", check->refused);
        if (!check->refused) {
            set_range(object, "allocated_peak", &check->allocated);
            set_range(object, "reserved_peak", &check->reserved);
            json_set_real(object, "allocated_error",
                          forecast_error(&check->allocated, reading_of(check->true_allocated)));
            json_set_real(object, "reserved_error",
                          forecast_error(&check->reserved, check->true_reserved));
            json_set_text(object, "peak_phase", check->phase);
        }
        json_set_count(object, "true_allocated_peak", check->true_allocated);
        json_set_reading(object, "true_reserved_peak", check->true_reserved);
        json_set_text(object, "true_peak_phase", check->true_phase);
        json_append(array, object);
    }
    return array;
}

void forecast_data_add_json(const struct forecast_view *view, struct text *out)
{
    const struct script *s = &view->script;
    struct json *document = json_make_object(), *sources = json_make_array();
    struct json *cards = json_make_array();
    json_set_count(document, "schema", 1);
    json_set_text(document, "evidence", "computed");
    json_set_text(document, "dimension", view->dimension);
    json_set_text(document, "allocator", view->allocator);
    json_set_text(document, "outside_from", view->outside_basis);
    for (size_t i = 0; i < view->take_count; i++) {
        struct json *source = json_make_object();
        json_set_count(source, "value", view->takes[i].value);
        json_set_text(source, "recording", view->takes[i].path);
        json_append(sources, source);
    }
    json_set(document, "sources", sources);
    json_set_count(document, "requests", s->requests);
    json_set_count(document, "unchecked_fits", s->unchecked);
    json_set_count(document, "unchecked_short_lived", s->doubtful_short);
    json_set_count(document, "irregular_requests", s->irregular);
    json_set_count(document, "irregular_bytes", s->irregular_bytes);
    json_set_count(document, "moved_frees", s->moved);
    json_set(document, "checks", checks_json(view));
    if (!view->checks)
        json_set_count(document, "worth_recording", forecast_worth_recording(view));
    for (size_t i = 0; i < view->card_count; i++)
        json_append(cards, card_json(view, &view->cards[i]));
    json_set(document, "cards", cards);
    json_write(document, out);
    json_release(document);
}
