#include "harness/plan/duration.h"

/* All assumed, between what was measured and smaller cards: one H200 prefills a network of
 * 8 * 10^9 parameters at 570 * 10^12 operations a second. The host's reference arithmetic does
 * 4 * 10^9 in two bytes a number and twice as many in float32, on one core of a server. */
static const struct {
    double start_ns;
    double peak_ns;      /* a byte of the allocated peak, once */
    double execution_ns; /* a byte of it, in each execution */
    double operation_ns; /* in each execution */
    const char *words;
} durations[] = {
    [BACKEND_CUDA] = {1e9, 0, 1e-2, 0.5e-5,
                      "1 s a run for launch, context and libraries; an execution touches its "
                      "allocated peak at 100 GB/s and computes at 200 TFLOP/s"},
    [BACKEND_SIMULATED] = {0.5e9, 0, 0, 0, "0.5 s a run for launch"},
    [BACKEND_HOST] = {0.5e9, 10, 0, 0.25,
                      "0.5 s a run for launch; its allocated peak is made at 0.1 GB/s, an "
                      "execution computes at 4 GFLOP/s"},
};

const char *duration_rule(const struct study *study)
{
    return durations[study->setting.backend].words;
}

double duration_assumed_ns(const struct study *study, const struct plan_run *run, bool fits,
                           struct reading allocated_peak)
{
    double peak = allocated_peak.known ? (double)allocated_peak.value : 0;
    double start = durations[study->setting.backend].start_ns +
                   peak * durations[study->setting.backend].peak_ns;
    double executions = (double)(1 + study->setting.warmup + study->setting.repeats);
    const struct workload *workload = study->setting.workload;
    double operations =
        workload->operations ? workload->operations(&run->point, study->setting.options) : 0;
    if (!fits)
        return start;
    return start + executions * (peak * durations[study->setting.backend].execution_ns +
                                 operations * durations[study->setting.backend].operation_ns);
}
