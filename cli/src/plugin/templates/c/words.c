#include "words.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void count_words(struct words *words, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        bool space = isspace((unsigned char)text[i]) != 0;
        words->count += !space && !words->inside;
        words->inside = !space;
    }
}

// A code point as UTF-8; how many bytes it takes.
static size_t encode(uint32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    out[0] = (char)((0xff << (7 - more) & 0xff) | code >> 6 * more);
    for (size_t i = 1; i <= more; i++) {
        out[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    }
    return more + 1;
}

static uint32_t hex(const char *digits) {
    char four[5] = {0};
    memcpy(four, digits, 4);
    return (uint32_t)strtoul(four, NULL, 16);
}

// The string that begins at a quotation mark, and where it ends. `out` has room for it.
static const char *read_string(const char *at, const char *end, char *out) {
    at++;
    while (at < end && *at != '"') {
        if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        if (end - at < 2) {
            break;
        }
        char kind = at[1];
        at += 2;
        if (kind == 'u' && end - at >= 4) {
            uint32_t code = hex(at);
            at += 4;
            if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
                code = 0x10000 + ((code - 0xd800) << 10) + (hex(at + 2) - 0xdc00);
                at += 6;
            }
            out += encode(code, out);
            continue;
        }
        const char *from = "nrtbf", *to = "\n\r\t\b\f";
        const char *found = strchr(from, kind);
        *out++ = found != NULL && kind != 0 ? to[found - from] : kind;
    }
    *out = 0;
    return at < end ? at + 1 : end;
}

char *string_member(const char *json, size_t length, const char *name) {
    const char *end = json + length;
    char *text = malloc(length + 1);
    int depth = 0;
    bool is_name = false;
    for (const char *at = json; text != NULL && at < end;) {
        if (*at == '"') {
            bool matters = depth == 1 && is_name;
            at = read_string(at, end, text);
            if (!matters || strcmp(text, name) != 0) {
                is_name = false;
                continue;
            }
            while (at < end && (isspace((unsigned char)*at) || *at == ':')) {
                at++;
            }
            if (at < end && *at == '"') {
                read_string(at, end, text);
                return text;
            }
            break;
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        is_name = *at == '{' || *at == ',' || (is_name && isspace((unsigned char)*at));
        at++;
    }
    free(text);
    return NULL;
}
