// What clang calls before an access through a null pointer: address 0 is one like any other in WebAssembly, so that nothing
// would stop it. `dunlin plugin build` compiles this with the plugin.

#include <stdio.h>

#include "plugin.h"

// As the compiler lays it out.
struct access {
    const char *file;
    uint32_t line;
    uint32_t column;
};

// Not checked itself: the check would hold the place where this is compiled, which is another one each time.
__attribute__((no_sanitize("null"))) _Noreturn void __ubsan_handle_type_mismatch_v1_abort(struct access *access, void *pointer) {
    (void)pointer;
    static char text[400];
    int length = snprintf(text, sizeof text, "access through a null pointer (%s:%u)", access->file, (unsigned)access->line);
    plugin_string_t message = {(uint8_t *)text, length < (int)sizeof text ? (size_t)length : sizeof text - 1};
    dunlin_tool_tool_types_report_crash(&message);
    __builtin_trap();
}
