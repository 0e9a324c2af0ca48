#include "harness/verdict/classify.h"
#include "harness/observe/oomkill.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define EXIT(code) ((code) << 8)

static const struct phase_record silent = {.hello = ROW_INIT};

/* An ending with these last words; the caller releases the verdict's texts. */
static struct verdict judge(struct ending ending, const struct phase_record *record,
                            const char *words)
{
    struct text said = TEXT_INIT;
    struct verdict verdict;
    text_add(&said, words);
    classify(&(struct child_facts){.record = record, .words = &said, .ending = &ending},
             &verdict);
    text_release(&said);
    return verdict;
}

static void assert_verdict(struct ending ending, const struct phase_record *record,
                           const char *words, enum status status, const char *error)
{
    struct verdict verdict = judge(ending, record, words);
    assert_string_equal(status_facts[verdict.status].name, status_facts[status].name);
    assert_string_equal(text_string(&verdict.error), error);
    text_release(&verdict.error);
    text_release(&verdict.warning);
}

static void assert_exit(const char *words, enum status status, const char *error)
{
    assert_verdict((struct ending){.reaped = true, .wait_status = EXIT(1)}, &silent, words,
                   status, error);
}

/* However much it reads like a refusal: quoted, an error, and refused by nobody. */
static void words_decide_nothing(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "FileNotFoundError: docs/out_of_memory.md",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "RuntimeError: CUDA error: out of memory",
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1.00 MiB on device 0: "
        "cudaMalloc "
        "failed: out of memory",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "cudaErrorMemoryAllocation",
        "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate",
        "thrust::system::detail::bad_alloc: std::bad_alloc: cudaErrorMemoryAllocation",
        "CUBLAS_STATUS_NOT_INITIALIZED when calling cublasCreate",
        "CUDA error: an illegal memory access was encountered",
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.45 TiB",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "OSError: [Errno 12] Cannot allocate memory",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate",
        "CUDA error: out of memory: cudaMallocHost of pinned memory",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_exit(lines[i], STATUS_error, lines[i]);
        struct verdict verdict =
            judge((struct ending){.reaped = true, .wait_status = EXIT(1)}, &silent, lines[i]);
        assert_null(verdict.refused_by);
        assert_int_equal(status_facts[verdict.status].judged, FITS_NOT_JUDGED);
        text_release(&verdict.error);
        text_release(&verdict.warning);
    }
}

/* Case 55: the last line of a log is not the cause. */
static void first_causes_are_quoted(void **state)
{
    (void)state;
    assert_exit("warning: out of memory, trying again\nline\nline\nCUDA error: misaligned\n",
                STATUS_error,
                "warning: out of memory, trying again; last: CUDA error: misaligned");
    assert_exit("std::bad_alloc\nfatal: later\n", STATUS_error,
                "std::bad_alloc; last: fatal: later");
    /* An earlier error is not told, nor what is none. */
    assert_exit("error: retry 1\nCUDA out of memory.\nSee the manual.\n", STATUS_error,
                "CUDA out of memory.");
    assert_exit("MemoryError\nerror: between\nCUDA out of memory.\n", STATUS_error,
                "MemoryError");
}

/* In the middle of an output of any length. */
static void the_line_that_tells_most_is_found(void **state)
{
    (void)state;
    struct text words = TEXT_INIT;
    for (int i = 0; i < 500; i++)
        text_addf(&words, "%s%d of the log\n", i == 250 ? "CUDA out of memory " : "line ", i);
    assert_exit(text_string(&words), STATUS_error, "CUDA out of memory 250 of the log");
    text_release(&words);
}

/* Refused, and ended well: ok, with a warning; nothing refused: none. */
static void assert_recovered(const char *refused_by, uint64_t retries, const char *warning)
{
    struct row rows[2] = {ROW_INIT, ROW_INIT};
    struct phase_record record = {
        .hello = ROW_INIT, .said_hello = true, .said_bye = true, .rows = rows, .count = 2};
    struct ending ending = {.reaped = true, .speaks_phases = true};
    for (size_t i = 0; i < 2; i++) {
        row_set_text(&rows[i], COLUMN_phase, i == 0 ? "context" : "model_load");
        row_set_status(&rows[i], STATUS_ok);
    }
    row_set_text(&rows[0], COLUMN_refused_by, refused_by);
    row_set_count(&rows[1], COLUMN_alloc_retries, retries);
    struct verdict verdict = judge(ending, &record, "CUDA out of memory, trying again");
    assert_int_equal(verdict.status, STATUS_ok);
    assert_string_equal(text_string(&verdict.warning), warning);
    assert_null(verdict.refused_by);
    text_release(&verdict.error);
    text_release(&verdict.warning);
    ending.wait_status = EXIT(1);
    verdict = judge(ending, &record, "boo");
    assert_int_equal(verdict.status, STATUS_error);
    assert_int_equal(verdict.warning.length, 0);
    text_release(&verdict.error);
    text_release(&verdict.warning);
    row_release(&rows[0]);
    row_release(&rows[1]);
}

static void who_recovered_is_ok_with_a_warning(void **state)
{
    (void)state;
    assert_recovered(NULL, 0, "");
    assert_recovered("device", 0, "memory was refused by device, and it went on");
    assert_recovered(NULL, 3,
                     "memory was refused until the allocator gave back its cache: 3 times");
}

static void codes_and_signals(void **state)
{
    (void)state;
    struct ending ending = {.reaped = true, .wait_status = EXIT(137)};
    assert_verdict(ending, &silent, "", STATUS_error, "exit code 137 without a word");
    ending.wait_status = 9;
    assert_verdict(ending, &silent, "", STATUS_crashed, "signal 9 (SIGKILL)");
    assert_verdict(ending, &silent, "CUDA out of memory", STATUS_crashed,
                   "signal 9 (SIGKILL): CUDA out of memory");
    ending.host_killed = true;
    assert_verdict(ending, &silent, "", STATUS_host_oom,
                   "ended by the host's out-of-memory killer: signal 9 (SIGKILL)");
    ending.wait_status = 11; /* somebody else was killed by the host */
    assert_verdict(ending, &silent, "", STATUS_crashed, "signal 11 (SIGSEGV)");
    ending = (struct ending){.by = ENDED_BY_TIMEOUT, .reaped = true, .wait_status = 9};
    assert_verdict(ending, &silent, "out of memory", STATUS_timeout,
                   "still alive at the deadline");
    ending.by = ENDED_BY_STOP;
    assert_verdict(ending, &silent, "", STATUS_stopped, "");
    ending = (struct ending){.by = ENDED_BY_TIMEOUT};
    struct verdict verdict = judge(ending, &silent, "");
    assert_int_equal(verdict.status, STATUS_timeout);
    assert_non_null(strstr(text_string(&verdict.warning), "could not be ended"));
    text_release(&verdict.error);
    text_release(&verdict.warning);
}

static void good_ends_need_proof(void **state)
{
    (void)state;
    struct ending ending = {.reaped = true, .speaks_phases = true};
    struct phase_record record = {.hello = ROW_INIT};
    assert_verdict(ending, &record, "", STATUS_error, "exit code 0, but it reported no phases");
    record.said_hello = true;
    assert_verdict(ending, &record, "", STATUS_error, "exit code 0 before the work was done");
    record.said_bye = true;
    assert_verdict(ending, &record, "out of memory", STATUS_ok, "");
    struct row row = ROW_INIT;
    row_set_text(&row, COLUMN_phase, "model_load");
    row_set_text(&row, COLUMN_partial, "yes");
    record.rows = &row;
    record.count = 1;
    assert_verdict(ending, &record, "", STATUS_error,
                   "exit code 0 in the middle of phase model_load");
    ending.speaks_phases = false;
    assert_verdict(ending, &silent, "", STATUS_ok, "");
    row_release(&row);
}

static void a_childs_own_verdict_comes_first(void **state)
{
    (void)state;
    struct row row = ROW_INIT;
    struct phase_record record = {.hello = ROW_INIT, .failed = true, .rows = &row, .count = 1};
    row_set_status(&row, STATUS_oom);
    row_set_text(&row, COLUMN_partial, "yes");
    row_set_text(&row, COLUMN_error, "4096 bytes refused\\n");
    struct ending ending = {.reaped = true, .wait_status = EXIT(3)};
    assert_verdict(ending, &record, "std::bad_alloc", STATUS_oom, "4096 bytes refused\\n");
    ending = (struct ending){.by = ENDED_BY_TIMEOUT, .reaped = true, .wait_status = 9};
    struct verdict verdict = judge(ending, &record, "");
    assert_int_equal(verdict.status, STATUS_oom);
    assert_string_equal(text_string(&verdict.warning), "still alive at the deadline");
    text_release(&verdict.error);
    text_release(&verdict.warning);
    ending.device_lost = true;
    verdict = judge(ending, &record, "");
    assert_int_equal(verdict.status, STATUS_device_lost);
    assert_string_equal(text_string(&verdict.warning),
                        "still alive at the deadline; the device no longer answers");
    text_release(&verdict.error);
    text_release(&verdict.warning);
    row_release(&row);
}

/* Of phases that ended, the first that did not end well; of an end that is none, the exit. */
static void a_phase_that_failed_decides(void **state)
{
    (void)state;
    struct row rows[3] = {ROW_INIT, ROW_INIT, ROW_INIT};
    struct phase_record record = {
        .hello = ROW_INIT, .said_bye = true, .rows = rows, .count = 3, .dropped = "fits"};
    struct ending ending = {.reaped = true, .speaks_phases = true};
    for (size_t i = 0; i < 3; i++)
        row_set_status(&rows[i], STATUS_ok);
    assert_verdict(ending, &record, "", STATUS_ok, "");
    ending.wait_status = SIGSEGV;
    assert_verdict(ending, &record, "", STATUS_crashed, "signal 11 (SIGSEGV)");
    row_set_status(&rows[0], STATUS_adapted);
    assert_verdict(ending, &record, "", STATUS_crashed, "signal 11 (SIGSEGV)");
    ending.wait_status = 0;
    assert_verdict(ending, &record, "", STATUS_adapted, "");
    row_set_status(&rows[1], STATUS_oom);
    row_set_text(&rows[1], COLUMN_error, "refused");
    row_set_status(&rows[2], STATUS_error);
    assert_verdict(ending, &record, "", STATUS_oom, "refused");
    assert_ptr_equal(classify_own(&record), &rows[1]);
    record.bad_status = true;
    record.status_given = STATUS_timeout;
    struct verdict verdict = judge(ending, &record, "");
    assert_string_equal(text_string(&verdict.warning),
                        "fits is not the child's to say; "
                        "status timeout is not the child's to give");
    text_release(&verdict.error);
    text_release(&verdict.warning);
    for (size_t i = 0; i < 3; i++)
        row_release(&rows[i]);
}

static void an_unread_phase_file_proves_nothing(void **state)
{
    (void)state;
    struct ending ending = {.reaped = true, .unread = "no file"};
    assert_verdict(ending, &silent, "", STATUS_error, "its phase file cannot be read: no file");
    ending.wait_status = EXIT(1);
    struct verdict verdict = judge(ending, &silent, "boo");
    assert_string_equal(text_string(&verdict.error), "boo");
    assert_string_equal(text_string(&verdict.warning), "its phase file cannot be read");
    text_release(&verdict.error);
    text_release(&verdict.warning);
}

static void any_bytes_are_one_short_line(void **state)
{
    (void)state;
    const char bytes[] = "abc\0d\"e,\r\n\303(\n";
    struct text words = TEXT_INIT;
    struct verdict verdict;
    const struct ending ending = {.reaped = true, .wait_status = EXIT(1)};
    text_add_bytes(&words, bytes, sizeof bytes - 1);
    const struct child_facts facts = {.record = &silent, .words = &words, .ending = &ending};
    classify(&facts, &verdict);
    assert_string_equal(text_string(&verdict.error), "abc\\0d\"e,\\r\\n\\xc3(");
    text_release(&verdict.error);
    text_clear(&words);
    for (int i = 0; i < 100000; i++)
        text_add_char(&words, '\001');
    classify(&facts, &verdict);
    assert_true(verdict.error.length > 100 && verdict.error.length <= 500);
    text_release(&verdict.error);
    text_release(&words);
}

/* The counter's file must exist to be chosen; a folder of our own plays the mount. */
static void the_counter_is_that_of_the_memory_group(void **state)
{
    (void)state;
    char mount[] = "/tmp/classify_test-XXXXXX";
    struct text path = TEXT_INIT;
    assert_non_null(mkdtemp(mount));
    char *command = xasprintf("cd %s && mkdir -p memory/a/b c && "
                              "touch memory/memory.oom_control memory/a/b/memory.oom_control "
                              "memory.events c/memory.events",
                              mount);
    assert_int_equal(system(command), 0);
    const struct {
        const char *groups, *wanted;
    } cases[] = {
        {"4:memory:/a/b\n0::/\n", "/memory/a/b/memory.oom_control"},
        {"0::/\n4:cpu,memory:/a/b\n", "/memory/a/b/memory.oom_control"},
        {"4:memory:/elsewhere\n", "/memory/memory.oom_control"}, /* seen from a container */
        {"4:notmemory:/a/b\n0::/c\n", "/c/memory.events"},
        {"0::/c\n", "/c/memory.events"},
        {"0::/gone\n", "/memory.events"},
        {"3:cpu:/\n", ""},
        {"", ""},
        {"nonsense\n::\n", "/memory.events"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oomkill_path(cases[i].groups, mount, &path);
        char *wanted = cases[i].wanted[0] != '\0' ? xasprintf("%s%s", mount, cases[i].wanted)
                                                  : xstrdup("");
        assert_string_equal(text_string(&path), wanted);
        free(wanted);
    }
    free(command);
    command = xasprintf("rm -r %s", mount);
    assert_int_equal(system(command), 0);
    free(command);
    text_release(&path);
}

static void write_counter(const char *path, int value)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "oom_kill_disable 0\nunder_oom 0\noom_kill %d\n", value);
    assert_int_equal(fclose(file), 0);
}

/* A killed process leaves its group before it is reaped; its counter must not be forgotten. */
static void a_counter_that_was_left_is_remembered(void **state)
{
    (void)state;
    char folder[] = "/tmp/classify_test-XXXXXX";
    struct oomkill oomkill = OOMKILL_INIT;
    assert_non_null(mkdtemp(folder));
    char *group = xasprintf("%s/group", folder), *top = xasprintf("%s/top", folder);
    write_counter(group, 3);
    write_counter(top, 9);
    oomkill_watch(&oomkill, group);
    assert_false(oomkill_happened(&oomkill));
    oomkill_watch(&oomkill, top); /* moved, and nothing happened */
    assert_false(oomkill_happened(&oomkill));
    oomkill_watch(&oomkill, group);
    write_counter(group, 4);
    assert_true(oomkill_happened(&oomkill));
    oomkill_watch(&oomkill, top);
    assert_true(oomkill_happened(&oomkill));
    oomkill_release(&oomkill);
    unlink(group);
    unlink(top);
    rmdir(folder);
    free(group);
    free(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_decide_nothing),
        cmocka_unit_test(first_causes_are_quoted),
        cmocka_unit_test(the_line_that_tells_most_is_found),
        cmocka_unit_test(who_recovered_is_ok_with_a_warning),
        cmocka_unit_test(codes_and_signals),
        cmocka_unit_test(good_ends_need_proof),
        cmocka_unit_test(a_childs_own_verdict_comes_first),
        cmocka_unit_test(a_phase_that_failed_decides),
        cmocka_unit_test(an_unread_phase_file_proves_nothing),
        cmocka_unit_test(any_bytes_are_one_short_line),
        cmocka_unit_test(the_counter_is_that_of_the_memory_group),
        cmocka_unit_test(a_counter_that_was_left_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
