/* JSON documents (RFC 8259): one object that is filled value by value, then written as a whole.
 *
 *     sp_json_text(json, "status", "converged");        "status": "converged"
 *     sp_json_open_object(json, "errors");              "errors": {
 *     sp_json_real(json, "L2", 1.5e-9);                   "L2": 1.5e-09
 *     sp_json_close(json);                              }
 *
 * Members keep the order in which they are added. A member that is added again gets the new value
 * at its old position; an object that is opened again gets more members. In an array `name` is
 * ignored and may be NULL.
 *
 * Reals have 17 significant digits, so that reading them gives the same bits; infinities and NaN
 * become null. Bytes of a name or text that are not UTF-8 become U+FFFD.
 *
 * `json` may be NULL: then nothing happens, so that callers need not ask whether a document is
 * wanted. A lack of memory is kept and reported by sp_json_format. All functions Local. */
#ifndef SP_IO_JSON_H
#define SP_IO_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "io/error.h"

typedef struct sp_json sp_json;

/* An empty object. The caller destroys *out. Errors: SP_ERR_SYSTEM. */
sp_status sp_json_create(sp_json **out);

/* Add a member. `value` may be NULL, which is null. */
void sp_json_text(sp_json *json, const char *name, const char *value);
void sp_json_integer(sp_json *json, const char *name, int64_t value);
void sp_json_real(sp_json *json, const char *name, double value);

/* Members that are added until the matching sp_json_close belong to this member. At most 7 are open
 * at a time. */
void sp_json_open_object(sp_json *json, const char *name);
void sp_json_open_array(sp_json *json, const char *name);
void sp_json_close(sp_json *json);

/* *text = the document, indented, with a line break at its end and a terminating zero; the caller
 * frees it. `json` must not be NULL. Errors: SP_ERR_SYSTEM. */
sp_status sp_json_format(const sp_json *json, char **text);

/* Check that a JSON document may replace `path`: nothing is there, or an empty file, or one that
 * begins with "{". So a forgotten file name does not overwrite a mesh. Errors: SP_ERR_INPUT;
 * SP_ERR_SYSTEM if the file cannot be read (both without the path). */
sp_status sp_json_check_target(const char *path);

/* NULL-safe; sets *json to NULL. */
void sp_json_destroy(sp_json **json);

#endif
