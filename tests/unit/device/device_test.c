/* Simulated and host devices: capacity, overhead, what refuses, and memory that is really
 * there. */
#include "harness/device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static uint64_t used(struct device *device)
{
    uint64_t free_bytes, total_bytes;
    assert_int_equal(device->ops->usage(device, &free_bytes, &total_bytes), 0);
    return total_bytes - free_bytes;
}

static void overhead_comes_first(void **state)
{
    (void)state;
    struct device device;
    uint64_t address;
    struct device_setting setting = {.capacity = reading_of(64 * MIB), .overhead = 60 * MIB};
    assert_int_equal(device_open(&device, &device_simulated, &setting), OUTCOME_OK);
    assert_int_equal(used(&device), 60 * MIB);
    assert_int_equal(device.ops->segment_alloc(&device, 6 * MIB, &address), OUTCOME_OOM);
    assert_int_equal(device.ops->segment_alloc(&device, 4 * MIB, &address), OUTCOME_OK);
    device.ops->segment_free(&device, address, 4 * MIB);
    device_close(&device);
    setting.overhead = 65 * MIB;
    assert_int_equal(device_open(&device, &device_simulated, &setting), OUTCOME_OOM);
    device_close(&device);
}

static void no_size_overflows(void **state)
{
    (void)state;
    const struct device_ops *const devices[] = {&device_simulated, &device_host};
    for (size_t i = 0; i < 2; i++) {
        struct device device;
        uint64_t address;
        const struct device_setting setting = {.capacity = reading_of(64 * MIB)};
        assert_int_equal(device_open(&device, devices[i], &setting), OUTCOME_OK);
        assert_int_equal(device.ops->segment_alloc(&device, (uint64_t)1 << 59, &address),
                         OUTCOME_OOM);
        assert_int_equal(used(&device), 0);
        device_close(&device);
    }
}

static void host_memory_is_there(void **state)
{
    (void)state;
    struct device device;
    uint64_t address;
    char there[1000], back[1000];
    const struct device_setting setting = {.capacity = reading_of(4 * MIB)};
    assert_int_equal(device_open(&device, &device_host, &setting), OUTCOME_OK);
    assert_int_equal(device.ops->segment_alloc(&device, sizeof(there), &address), OUTCOME_OK);
    assert_int_equal(address % 512, 0);
    memset(there, 'x', sizeof(there));
    assert_int_equal(device.ops->from_host(&device, address, there, sizeof(there)), OUTCOME_OK);
    assert_int_equal(device.ops->to_host(&device, back, address, sizeof(back)), OUTCOME_OK);
    assert_memory_equal(there, back, sizeof(there));
    device.ops->segment_free(&device, address, sizeof(there));
    device_close(&device);
}

/* Not the budget but the host refuses: another outcome, and nothing is counted. */
static int refused_by_the_host(void)
{
    struct device device;
    uint64_t address;
    const struct device_setting setting = {.capacity = reading_of(65536 * MIB)};
    const struct rlimit small = {256 * MIB, 256 * MIB};
    if (device_open(&device, &device_host, &setting) != OUTCOME_OK ||
        setrlimit(RLIMIT_AS, &small))
        return 1;
    if (device.ops->segment_alloc(&device, 1024 * MIB, &address) != OUTCOME_HOST_OOM)
        return 2;
    if (device.ops->paging->reserve(&device, 1024 * MIB, &address) != OUTCOME_HOST_OOM)
        return 3;
    if (device.ops->pool->alloc(&device, 1024, &address) != OUTCOME_HOST_OOM)
        return 4;
    return used(&device) ? 5 : 0;
}

static void host_refuses(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* the sanitizer itself needs more address space than can be limited */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    skip();
#endif
#endif
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(refused_by_the_host());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Pages come and go inside a reservation; what is not mapped is not there. */
static void host_pages(void **state)
{
    (void)state;
    struct device device;
    uint64_t base;
    int status;
    const struct device_setting setting = {.capacity = reading_of(6 * MIB)};
    assert_int_equal(device_open(&device, &device_host, &setting), OUTCOME_OK);
    const struct device_paging *paging = device.ops->paging;
    assert_int_equal(paging->reserve(&device, 64 * MIB, &base), OUTCOME_OK);
    assert_int_equal(used(&device), 0);
    assert_int_equal(paging->map(&device, base + 2 * MIB, 4 * MIB), OUTCOME_OK);
    assert_int_equal(paging->map(&device, base, 4 * MIB), OUTCOME_OOM);
    volatile char *memory = (volatile char *)(uintptr_t)base;
    memory[2 * MIB] = memory[6 * MIB - 1] = 1;
    paging->unmap(&device, base + 2 * MIB, 2 * MIB);
    assert_int_equal(used(&device), 2 * MIB);
    assert_int_equal(memory[6 * MIB - 1], 1);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        memory[2 * MIB] = 2;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_int_equal(paging->map(&device, base + 2 * MIB, 2 * MIB), OUTCOME_OK);
    assert_int_equal(memory[2 * MIB], 0); /* fresh memory */
    paging->unmap(&device, base + 2 * MIB, 4 * MIB);
    paging->unreserve(&device, base, 64 * MIB);
    assert_int_equal(used(&device), 0);
    device_close(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overhead_comes_first), cmocka_unit_test(no_size_overflows),
        cmocka_unit_test(host_memory_is_there), cmocka_unit_test(host_refuses),
        cmocka_unit_test(host_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
