// A diary: each call appends a line with today's date.

#define _GNU_SOURCE // asprintf

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugin.h"
#include "words.h" // string_member

static const char PARAMETERS[] =
    "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"description\":\"What happened\"}},"
    "\"required\":[\"text\"],\"additionalProperties\":false}";

static char FILE_NAME[] = "diary.md";

// A text for the host, which copies it.
static plugin_string_t text_of(const char *text) {
    plugin_string_t string;
    plugin_string_set(&string, text);
    return string;
}

static void fail(exports_dunlin_tool_tool_own_failure_t *failure, uint8_t kind, const char *message) {
    plugin_string_t text = text_of(message);
    *failure = dunlin_tool_tool_types_constructor_failure(kind, &text);
}

exports_dunlin_tool_tool_own_plugin_info_t exports_dunlin_tool_tool_describe(void) {
    plugin_string_t name = text_of("diary");
    plugin_string_t description = text_of("Writes a line into the diary.");
    plugin_string_t parameters = text_of(PARAMETERS);
    dunlin_tool_tool_types_own_plugin_info_t info = dunlin_tool_tool_types_constructor_plugin_info();
    dunlin_tool_tool_types_method_plugin_info_add_tool(
        dunlin_tool_tool_types_borrow_plugin_info(info),
        dunlin_tool_tool_types_constructor_tool_info(&name, &description, &parameters));
    return info;
}

// The line that a call writes, to be freed; NULL and a failure if there is none.
static char *line_of(exports_dunlin_tool_tool_own_call_t call, exports_dunlin_tool_tool_own_failure_t *failure) {
    plugin_string_t arguments;
    dunlin_tool_tool_types_method_call_arguments(dunlin_tool_tool_types_borrow_call(call), &arguments);
    char *text = string_member((char *)arguments.ptr, arguments.len, "text");
    plugin_string_free(&arguments);
    if (text == NULL || *text == 0) {
        free(text);
        fail(failure, DUNLIN_TOOL_TOOL_TYPES_FAILURE_KIND_INVALID_ARGUMENTS, "text is empty: say what happened");
        return NULL;
    }
    uint64_t now = dunlin_tool_clock_now_ms();
    time_t local = (time_t)(now / 1000) + dunlin_tool_clock_utc_offset_minutes(now) * 60;
    char day[16];
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&local));
    char *line;
    if (asprintf(&line, "%s: %s\n", day, text) < 0) {
        abort();
    }
    free(text);
    return line;
}

// The user is shown the difference; run does exactly this.
bool exports_dunlin_tool_tool_prepare(exports_dunlin_tool_tool_own_call_t call, exports_dunlin_tool_tool_own_plan_t *plan,
                                      exports_dunlin_tool_tool_own_failure_t *failure) {
    char *line = line_of(call, failure);
    if (line == NULL) {
        return false;
    }
    plugin_string_t question = text_of(""), path = text_of(FILE_NAME), text = text_of(line);
    *plan = dunlin_tool_tool_types_constructor_plan(&question);
    dunlin_tool_tool_types_method_plan_add_append(dunlin_tool_tool_types_borrow_plan(*plan), &path, &text);
    free(line);
    return true;
}

bool exports_dunlin_tool_tool_run(exports_dunlin_tool_tool_own_call_t call, exports_dunlin_tool_tool_own_output_t *result,
                                  exports_dunlin_tool_tool_own_failure_t *failure) {
    char *line = line_of(call, failure);
    if (line == NULL) {
        return false;
    }
    plugin_string_t path = text_of(FILE_NAME), text = text_of(line);
    dunlin_tool_files_edited_t edited;
    dunlin_tool_files_error_t error;
    bool is_written = dunlin_tool_files_append_text(&path, &text, &edited, &error);
    free(line);
    if (!is_written) {
        bool is_denied = error.tag == DUNLIN_TOOL_TYPES_ERROR_DENIED;
        fail(failure,
             is_denied ? DUNLIN_TOOL_TOOL_TYPES_FAILURE_KIND_DENIED : DUNLIN_TOOL_TOOL_TYPES_FAILURE_KIND_FAILED,
             is_denied ? "writing diary.md was denied" : "diary.md cannot be written");
        return false;
    }
    char *said;
    if (asprintf(&said, "The diary has %llu lines.", (unsigned long long)edited.lines_after) < 0) {
        abort();
    }
    plugin_string_t answer = text_of(said);
    *result = dunlin_tool_tool_types_constructor_output();
    dunlin_tool_tool_types_method_output_add_text(dunlin_tool_tool_types_borrow_output(*result), &answer);
    free(said);
    return true;
}
