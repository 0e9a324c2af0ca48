/* json: JSON in and out; the only file that knows jansson is json.c.
 *
 * Writing is a stream of calls into a text; integers stay exact 64-bit. Reading gives a tree of
 * opaque nodes owned by the document; positions of errors are in the message.
 */
#ifndef HIGHWATER_BASE_JSON_H
#define HIGHWATER_BASE_JSON_H

#include "harness/base/reading.h"
#include "harness/base/text.h"

/* --- writing: values are built and owned; adding one to a parent hands it over --- */
struct json; /* an opaque value */
struct json *json_make_object(void);
struct json *json_make_array(void);
void json_set(struct json *object, const char *key, struct json *value);
void json_set_text(struct json *object, const char *key, const char *value); /* NULL: null */
void json_set_count(struct json *object, const char *key, uint64_t value);
void json_set_reading(struct json *object, const char *key, struct reading value);
void json_set_real(struct json *object, const char *key, double value);
void json_set_flag(struct json *object, const char *key, bool value);
void json_append(struct json *array, struct json *value);
void json_append_text(struct json *array, const char *value); /* NULL: null */
void json_append_count(struct json *array, uint64_t value);
/* Appends the document, indented by two, ending with a newline. Text that is not valid UTF-8 is
 * escaped as text_add_escaped does, hidden characters are written as \uNNNN; a real that is not
 * finite becomes null. */
void json_write(const struct json *value, struct text *out);
void json_release(struct json *value);

/* --- reading: -1 gives the position and reason; duplicate keys are an error --- */
int json_parse(const char *bytes, size_t length, struct json **out,
               struct text *why) MUST_CHECK;
const struct json *json_get(const struct json *object, const char *key); /* NULL: absent */
size_t json_length(const struct json *array_or_object);
const struct json *json_at(const struct json *array, size_t index);
/* Walks an object in document order: *key is NULL before the first; false after the last. */
bool json_next(const struct json *object, const char **key, const struct json **value);
bool json_is_null(const struct json *value);
bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
/* Typed access; -1 when the value is of another kind (a count must be an integer >= 0; a real
 * written 32.0 is a count 32; text is never a number). Integers above 2^63 - 1 can be
 * written but are refused where a document is read. */
int json_count(const struct json *value, uint64_t *out) MUST_CHECK;
int json_number(const struct json *value, double *out) MUST_CHECK;
int json_flag(const struct json *value, bool *out) MUST_CHECK;
const char *json_text(const struct json *value); /* NULL: not a string */

#endif
