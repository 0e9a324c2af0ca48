/* A fresh working folder for the tests of one file: setup and teardown of a group. On a memory
 * file system where there is one, since some tests sync a thousand times. */
#ifndef TESTS_UNIT_FOLDER_BED_H
#define TESTS_UNIT_FOLDER_BED_H

#include "harness/base/file.h"

#include <stdlib.h>
#include <unistd.h>

static inline int enter_folder(void **state)
{
    char *folder = xstrdup("/dev/shm/highwater-test-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        free(folder);
        folder = xstrdup("/tmp/highwater-test-XXXXXX");
        if (mkdtemp(folder) == NULL)
            return -1;
    }
    *state = folder;
    return chdir(folder);
}

static inline int leave_folder(void **state)
{
    struct text why = TEXT_INIT;
    int failed = chdir("/") != 0 || folder_remove(*state, &why) != 0;
    free(*state);
    text_release(&why);
    return failed;
}

#endif
