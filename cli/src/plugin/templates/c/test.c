// Run by `make test`: what needs no host, on this machine.

#include "words.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_member(const char *json, const char *expected) {
    char *found = string_member(json, strlen(json), "file_path");
    assert((found == NULL) == (expected == NULL));
    assert(expected == NULL || strcmp(found, expected) == 0);
    free(found);
}

int main(void) {
    struct words words = {0};
    count_words(&words, "two  wo", 7);
    count_words(&words, "rds\n", 4);
    assert(words.count == 2);

    assert_member("{\"file_path\": \"a.txt\"}", "a.txt");
    assert_member("{\"more\": {\"file_path\": 1}, \"file_path\": \"a\\\"\\u00e9\\ud83d\\ude00\\n\"}", "a\"é😀\n");
    assert_member("{\"a\": [1, \"file_path\"], \"b\": \"file_path\", \"file_path\" : \"b\"}", "b");
    assert_member("{\"file_path\": 1}", NULL);
    assert_member("{\"file_path\": \"cut", "cut");
    assert_member("", NULL);
    puts("ok");
    return 0;
}
