#include "harness/setting/setting.h"

const char *const empty_cache_names[] = {"never", "between-repeats", "between-phases", NULL};
