#include "harness/record/spreadsheet_guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const char *const tempting[] = {"=HYPERLINK(\"x\")",
                                       "=1",
                                       "+1",
                                       "-1",
                                       "@SUM(1)",
                                       "\t=1",
                                       "\r=1",
                                       "\n=1",
                                       "'x",
                                       "'",
                                       "''",
                                       " =1",
                                       "1",
                                       "1e5",
                                       "1E-5",
                                       "1.0",
                                       "007",
                                       "1,024",
                                       "2026-11-29",
                                       "2026-11-29T12:30:00Z",
                                       "29.11.2026",
                                       "12:30",
                                       "12:30 PM",
                                       "12:30:59.5",
                                       "TRUE",
                                       "false",
                                       "1/2",
                                       "50%",
                                       "$5",
                                       "5 €",
                                       "(5)",
                                       "Mar 1",
                                       "MAR1",
                                       "SEPT2",
                                       "1-Dec",
                                       "December 2026",
                                       "Fri 5",
                                       "nan",
                                       "Inf",
                                       "NA",
                                       "n/a",
                                       "NULL",
                                       " 5 ",
                                       "1.2.3",
                                       "31.12.99",
                                       "11.29.2026",
                                       "2026.11.29",
                                       "23.59.59",
                                       "0.1.0",
                                       "580.159.044",
                                       "1.000.000",
                                       "999.999.999.999",
                                       "580.159.",
                                       ".580.159.04",
                                       "580..159.04",
                                       "580.159.04 ",
                                       "-580.159.04",
                                       "５80.159.04",
                                       "00000000:3:00.0",
                                       "４２",
                                       "＝1+1",
                                       "1\u00a0000",
                                       ".5",
                                       NULL};
static const char *const harmless[] = {"",
                                       " ",
                                       "x",
                                       "decoder",
                                       "kv-growth",
                                       "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
                                       "r-batch-8-t1",
                                       "h-n01",
                                       "pci-00000000:3B:00.0",
                                       "cuda-13.0",
                                       "device",
                                       "yes",
                                       "no",
                                       "out of memory: 12 GiB",
                                       "NVIDIA H200",
                                       "e5",
                                       "t1",
                                       "a",
                                       "maybe",
                                       "key=1;b=2",
                                       "日本",
                                       "1x",
                                       "8 GiB",
                                       "580.159.04",
                                       "570.86.15",
                                       "535.183.01",
                                       "32.13.2026",
                                       "1000.100.100",
                                       "10.0.0.1",
                                       "99999999999999999999999.13.32",
                                       "may",
                                       "truth",
                                       NULL};

static void guards(void **state)
{
    (void)state;
    for (size_t i = 0; tempting[i] != NULL; i++)
        if (!guard_needed(tempting[i]))
            fail_msg("not guarded: %s", tempting[i]);
    for (size_t i = 0; harmless[i] != NULL; i++)
        if (guard_needed(harmless[i]))
            fail_msg("guarded: %s", harmless[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(guards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
