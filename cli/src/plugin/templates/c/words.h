// What needs no host.

#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stddef.h>

// A count that continues from piece to piece; all zeros at first.
struct words {
    unsigned long count;
    bool inside;
};

void count_words(struct words *words, const char *text, size_t length);

// The string under a name in an object of JSON, ended by a zero; the caller frees it. NULL if there is none.
char *string_member(const char *json, size_t length, const char *name);

#endif
