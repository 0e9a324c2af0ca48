#include "harness/base/json.h"

#include <jansson.h>
/* Our functions of these names are defined below. */
#undef json_is_null
#undef json_is_object
#undef json_is_array
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A `struct json *` is a jansson value under another name: no caller can see the difference. */
static json_t *inside(struct json *value)
{
    return (json_t *)value;
}

/* jansson takes non-const values even where it only looks. */
static json_t *looked_at(const struct json *value)
{
    return (json_t *)(uintptr_t)value;
}

static struct json *outside(json_t *value)
{
    if (value == NULL) /* nothing else makes these fail */
        xmalloc_failed();
    return (struct json *)value;
}

/* --- writing --------------------------------------------------------------------------- */

struct json *json_make_object(void)
{
    return outside(json_object());
}

struct json *json_make_array(void)
{
    return outside(json_array());
}

void json_release(struct json *value)
{
    json_decref(inside(value));
}

void json_append(struct json *array, struct json *value)
{
    if (json_array_append_new(inside(array), inside(value)) != 0)
        xmalloc_failed();
}

/* Text that JSON can hold: valid UTF-8. BIG_MARK is ours alone, see make_count. */
#define BIG_MARK '\1'

static struct json *make_text(const char *value)
{
    size_t length = strlen(value);
    if (text_is_utf8(value, length) && strchr(value, BIG_MARK) == NULL)
        return outside(json_stringn(value, length));
    struct text escaped = TEXT_INIT;
    text_add_escaped(&escaped, value, length, 0);
    struct json *made = outside(json_stringn(text_string(&escaped), escaped.length));
    text_release(&escaped);
    return made;
}

/* jansson's integers are signed. A larger one travels as marked text, and json_write takes the
 * quotes and the mark away again. */
static struct json *make_count(uint64_t value)
{
    if (value <= INT64_MAX)
        return outside(json_integer((json_int_t)value));
    char *marked = xasprintf("%c%llu", BIG_MARK, (unsigned long long)value);
    struct json *made = outside(json_string(marked));
    free(marked);
    return made;
}

void json_set(struct json *object, const char *key, struct json *value)
{
    struct text escaped = TEXT_INIT;
    size_t length = strlen(key);
    if (text_is_utf8(key, length))
        text_add(&escaped, key);
    else
        text_add_escaped(&escaped, key, length, 0);
    if (json_object_set_new(inside(object), text_string(&escaped), inside(value)) != 0)
        xmalloc_failed();
    text_release(&escaped);
}

void json_set_text(struct json *object, const char *key, const char *value)
{
    json_set(object, key, value != NULL ? make_text(value) : outside(json_null()));
}

void json_set_count(struct json *object, const char *key, uint64_t value)
{
    json_set(object, key, make_count(value));
}

void json_set_reading(struct json *object, const char *key, struct reading value)
{
    json_set(object, key, value.known ? make_count(value.value) : outside(json_null()));
}

void json_set_real(struct json *object, const char *key, double value)
{
    json_set(object, key, outside(isfinite(value) ? json_real(value) : json_null()));
}

void json_set_flag(struct json *object, const char *key, bool value)
{
    json_set(object, key, outside(json_boolean(value)));
}

void json_append_text(struct json *array, const char *value)
{
    json_append(array, value != NULL ? make_text(value) : outside(json_null()));
}

void json_append_count(struct json *array, uint64_t value)
{
    json_append(array, make_count(value));
}

/* jansson writes all but ASCII's controls as they are. Outside of strings the dump has no
 * hidden character but the newline. */
static void add_dump(struct text *out, const char *dump, size_t length)
{
    size_t start = 0;
    for (size_t i = 0; i < length;) {
        uint32_t character;
        size_t hidden = dump[i] == '\n' ? 0 : text_hidden(dump + i, length - i, &character);
        if (hidden == 0) {
            i++;
            continue;
        }
        text_add_bytes(out, dump + start, i - start);
        if (character > 0xffff)
            text_addf(out, "\\u%04x\\u%04x", 0xd7c0 + (character >> 10),
                      0xdc00 + (character & 0x3ff));
        else
            text_addf(out, "\\u%04x", character);
        start = i += hidden;
    }
    text_add_bytes(out, dump + start, length - start);
}

void json_write(const struct json *value, struct text *out)
{
    static const char mark[] = "\"\\u0001";
    const size_t mark_length = sizeof mark - 1;
    char *dump = json_dumps(looked_at(value), JSON_INDENT(2) | JSON_ENCODE_ANY);
    if (dump == NULL)
        xmalloc_failed();
    const char *at = dump;
    for (const char *big; (big = strstr(at, mark)) != NULL;) {
        size_t digits = strspn(big + mark_length, "0123456789");
        add_dump(out, at, (size_t)(big - at));
        text_add_bytes(out, big + mark_length, digits);
        at = big + mark_length + digits + 1;
    }
    add_dump(out, at, strlen(at));
    text_add_char(out, '\n');
    free(dump);
}

/* --- reading --------------------------------------------------------------------------- */

int json_parse(const char *bytes, size_t length, struct json **out, struct text *why)
{
    json_error_t error;
    json_t *parsed = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
    if (parsed == NULL) {
        text_addf(why, "line %d, column %d: ", error.line, error.column);
        text_add_escaped(why, error.text, strlen(error.text), 0);
        return -1;
    }
    *out = (struct json *)parsed;
    return 0;
}

const struct json *json_get(const struct json *object, const char *key)
{
    return (const struct json *)json_object_get(looked_at(object), key);
}

static bool is_of(const struct json *value, json_type type)
{
    return value != NULL && json_typeof(looked_at(value)) == type;
}

bool json_is_null(const struct json *value)
{
    return is_of(value, JSON_NULL);
}

bool json_is_object(const struct json *value)
{
    return is_of(value, JSON_OBJECT);
}

bool json_is_array(const struct json *value)
{
    return is_of(value, JSON_ARRAY);
}

size_t json_length(const struct json *value)
{
    return json_is_array(value) ? json_array_size(looked_at(value))
                                : json_object_size(looked_at(value));
}

const struct json *json_at(const struct json *array, size_t index)
{
    return (const struct json *)json_array_get(looked_at(array), index);
}

bool json_next(const struct json *object, const char **key, const struct json **value)
{
    json_t *inner = looked_at(object);
    void *place = *key == NULL ? json_object_iter(inner)
                               : json_object_iter_next(inner, json_object_key_to_iter(*key));
    if (place == NULL)
        return false;
    *key = json_object_iter_key(place);
    *value = (const struct json *)json_object_iter_value(place);
    return true;
}

int json_count(const struct json *value, uint64_t *out)
{
    if (is_of(value, JSON_INTEGER)) {
        json_int_t integer = json_integer_value(looked_at(value));
        if (integer < 0)
            return -1;
        *out = (uint64_t)integer;
        return 0;
    }
    if (!is_of(value, JSON_REAL))
        return -1;
    double real = json_real_value(looked_at(value));
    if (!(real >= 0 && real <= 9007199254740992.0) || real != floor(real))
        return -1; /* above 2^53 a real no longer says which integer was meant */
    *out = (uint64_t)real;
    return 0;
}

int json_number(const struct json *value, double *out)
{
    if (!is_of(value, JSON_REAL) && !is_of(value, JSON_INTEGER))
        return -1;
    *out = json_number_value(looked_at(value));
    return 0;
}

int json_flag(const struct json *value, bool *out)
{
    if (!is_of(value, JSON_TRUE) && !is_of(value, JSON_FALSE))
        return -1;
    *out = is_of(value, JSON_TRUE);
    return 0;
}

const char *json_text(const struct json *value)
{
    return is_of(value, JSON_STRING) ? json_string_value(looked_at(value)) : NULL;
}
