// Counts the words of a text file. The files are real ones: fopen asks the user, or fails with EACCES.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"
#include "words.h"

static const char PARAMETERS[] = "@param file_path {string} [required] The file, relative to the project";

// What the model is told. Kept for as long as the plugin stays the same.
void exports_dunlin_tool_tool_describe(exports_dunlin_tool_tool_plugin_info_t *info) {
    exports_dunlin_tool_tool_tool_info_t *tool = calloc(1, sizeof *tool);
    plugin_string_dup(&tool->name, "{{name}}");
    plugin_string_dup(&tool->description, "Counts the words of a text file.");
    tool->parameters.tag = EXPORTS_DUNLIN_TOOL_TOOL_PARAMETERS_LINES;
    plugin_string_dup(&tool->parameters.val.lines, PARAMETERS);
    memset(info, 0, sizeof *info);
    plugin_string_dup(&info->contract, "0.1.0");
    info->life = EXPORTS_DUNLIN_TOOL_TOOL_LIFE_CALL;
    info->tools.ptr = tool;
    info->tools.len = 1;
}

static bool fails(exports_dunlin_tool_tool_failure_t *failure, uint8_t kind, const char *path, const char *why) {
    char message[512];
    snprintf(message, sizeof message, "cannot read %s: %s", path, why);
    failure->kind = kind;
    plugin_string_dup(&failure->message, message);
    return false;
}

// What the call will touch: the question for the user is made of it.
bool exports_dunlin_tool_tool_prepare(exports_dunlin_tool_tool_call_t *call, exports_dunlin_tool_tool_plan_t *plan,
                                      exports_dunlin_tool_tool_failure_t *failure) {
    char *path = string_member((char *)call->arguments.ptr, call->arguments.len, "file_path");
    if (path == NULL) {
        return fails(failure, EXPORTS_DUNLIN_TOOL_TOOL_FAILURE_KIND_INVALID_ARGUMENTS, "a file", "file_path is missing");
    }
    char question[512];
    snprintf(question, sizeof question, "Count the words of '%s'?", path);
    exports_dunlin_tool_tool_need_t *need = calloc(1, sizeof *need);
    need->target.tag = DUNLIN_TOOL_TYPES_TARGET_PATH;
    plugin_string_dup(&need->target.val.path, path);
    need->operation = DUNLIN_TOOL_TYPES_OPERATION_READ;
    memset(plan, 0, sizeof *plan);
    plugin_string_dup(&plan->question, question);
    plan->needs.ptr = need;
    plan->needs.len = 1;
    free(path);
    return true;
}

bool exports_dunlin_tool_tool_run(exports_dunlin_tool_tool_call_t *call, exports_dunlin_tool_tool_list_content_t *result,
                                  exports_dunlin_tool_tool_failure_t *failure) {
    char *path = string_member((char *)call->arguments.ptr, call->arguments.len, "file_path");
    FILE *file = path == NULL ? NULL : fopen(path, "r");
    if (file == NULL) {
        uint8_t kind = errno == EACCES ? EXPORTS_DUNLIN_TOOL_TOOL_FAILURE_KIND_DENIED
                                       : EXPORTS_DUNLIN_TOOL_TOOL_FAILURE_KIND_FAILED;
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
    char text[64];
    snprintf(text, sizeof text, "%lu words", words.count);
    result->ptr = calloc(1, sizeof *result->ptr);
    result->len = 1;
    result->ptr->tag = EXPORTS_DUNLIN_TOOL_TOOL_CONTENT_TEXT;
    plugin_string_dup(&result->ptr->val.text, text);
    return true;
}
