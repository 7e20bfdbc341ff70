// Counts the words of a text file. The files are real ones: fopen asks the user, or fails with EACCES.

#define _GNU_SOURCE // asprintf

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"
#include "words.h"

static const char PARAMETERS[] =
    "{\"type\":\"object\",\"properties\":{\"file_path\":{\"type\":\"string\","
    "\"description\":\"The file, relative to the project\"}},"
    "\"required\":[\"file_path\"],\"additionalProperties\":false}";

// A text for the host, which copies it.
static plugin_string_t text_of(const char *text) {
    plugin_string_t string;
    plugin_string_set(&string, text);
    return string;
}

// What the model is told. Kept for as long as the plugin stays the same.
exports_dunlin_tool_tool_own_plugin_info_t exports_dunlin_tool_tool_describe(void) {
    plugin_string_t name = text_of("{{name}}");
    plugin_string_t description = text_of("Counts the words of a text file.");
    plugin_string_t parameters = text_of(PARAMETERS);
    dunlin_tool_tool_types_own_plugin_info_t info = dunlin_tool_tool_types_constructor_plugin_info();
    dunlin_tool_tool_types_method_plugin_info_add_tool(
        dunlin_tool_tool_types_borrow_plugin_info(info),
        dunlin_tool_tool_types_constructor_tool_info(&name, &description, &parameters));
    return info;
}

// A text like that of printf, to be freed.
static char *formatted(const char *format, ...) {
    char *text;
    va_list values;
    va_start(values, format);
    if (vasprintf(&text, format, values) < 0) {
        abort();
    }
    va_end(values);
    return text;
}

static bool fails(exports_dunlin_tool_tool_own_failure_t *failure, uint8_t kind, const char *path, const char *why) {
    char *message = formatted("cannot read %s: %s", path, why);
    plugin_string_t text = text_of(message);
    *failure = dunlin_tool_tool_types_constructor_failure(kind, &text);
    free(message);
    return false;
}

// The file that a call names, to be freed; NULL if it names none.
static char *file_path_of(exports_dunlin_tool_tool_own_call_t call) {
    plugin_string_t arguments;
    dunlin_tool_tool_types_method_call_arguments(dunlin_tool_tool_types_borrow_call(call), &arguments);
    char *path = string_member((char *)arguments.ptr, arguments.len, "file_path");
    plugin_string_free(&arguments);
    return path;
}

// What the call will touch: the question for the user is made of it.
bool exports_dunlin_tool_tool_prepare(exports_dunlin_tool_tool_own_call_t call, exports_dunlin_tool_tool_own_plan_t *plan,
                                      exports_dunlin_tool_tool_own_failure_t *failure) {
    char *path = file_path_of(call);
    if (path == NULL) {
        return fails(failure, DUNLIN_TOOL_TOOL_TYPES_FAILURE_KIND_INVALID_ARGUMENTS, "a file", "file_path is missing");
    }
    char *question = formatted("Count the words of '%s'?", path);
    plugin_string_t text = text_of(question);
    *plan = dunlin_tool_tool_types_constructor_plan(&text);
    free(question);
    dunlin_tool_types_need_t need = {
        .target = {.tag = DUNLIN_TOOL_TYPES_TARGET_PATH, .val = {.path = text_of(path)}},
        .operation = DUNLIN_TOOL_TYPES_OPERATION_READ,
    };
    dunlin_tool_tool_types_method_plan_add_need(dunlin_tool_tool_types_borrow_plan(*plan), &need);
    free(path);
    return true;
}

bool exports_dunlin_tool_tool_run(exports_dunlin_tool_tool_own_call_t call, exports_dunlin_tool_tool_own_output_t *result,
                                  exports_dunlin_tool_tool_own_failure_t *failure) {
    char *path = file_path_of(call);
    FILE *file = path == NULL ? NULL : fopen(path, "r");
    if (file == NULL) {
        uint8_t kind = errno == EACCES ? DUNLIN_TOOL_TOOL_TYPES_FAILURE_KIND_DENIED
                                       : DUNLIN_TOOL_TOOL_TYPES_FAILURE_KIND_FAILED;
        fails(failure, kind, path == NULL ? "a file" : path, strerror(errno));
        free(path);
        return false;
    }
    struct words words = {0};
    char piece[4096];
    size_t length;
    while ((length = fread(piece, 1, sizeof piece, file)) > 0) {
        count_words(&words, piece, length);
    }
    fclose(file);
    free(path);
    char counted[64];
    snprintf(counted, sizeof counted, "%lu words", words.count);
    plugin_string_t text = text_of(counted);
    *result = dunlin_tool_tool_types_constructor_output();
    dunlin_tool_tool_types_method_output_add_text(dunlin_tool_tool_types_borrow_output(*result), &text);
    return true;
}
