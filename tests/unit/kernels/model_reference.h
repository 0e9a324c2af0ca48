/* The network once more, in float64 and as plainly as it can be said: the whole text at once,
 * no cache, every score masked by its definition. */
#ifndef HIGHWATER_TESTS_MODEL_REFERENCE_H
#define HIGHWATER_TESTS_MODEL_REFERENCE_H

#include "tests/unit/kernels/model_folder.h"

#include <math.h>

static const float *made(const struct made_model *model, const char *name)
{
    for (size_t i = 0; i < model->count; i++)
        if (strcmp(model->tensors[i].name, name) == 0)
            return model->tensors[i].values;
    return NULL;
}

/* y[rows][out] (+)= x[rows][in] * w[out][in]^T + bias */
static void times(const struct made_model *model, const char *prefix, const char *name,
                  const double *x, uint64_t rows, uint64_t in, uint64_t out, bool add,
                  double *y)
{
    char full[128];
    snprintf(full, sizeof(full), "%s%s.weight", prefix, name);
    const float *w = made(model, full);
    snprintf(full, sizeof(full), "%s%s.bias", prefix, name);
    const float *bias = made(model, full);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t o = 0; o < out; o++) {
            double sum = bias ? (double)bias[o] : 0;
            for (uint64_t i = 0; i < in; i++)
                sum += x[r * in + i] * (double)w[o * in + i];
            y[r * out + o] = (add ? y[r * out + o] : 0) + sum;
        }
}

static void rms(const struct made_model *model, const char *prefix, const char *name,
                const double *x, uint64_t rows, double *y)
{
    char full[128];
    uint64_t width = model->shape.width;
    snprintf(full, sizeof(full), "%s%s.weight", prefix, name);
    const float *weight = made(model, full);
    for (uint64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (uint64_t i = 0; i < width; i++)
            sum += x[r * width + i] * x[r * width + i];
        double scale = 1 / sqrt(sum / (double)width + model->shape.norm_eps);
        for (uint64_t i = 0; i < width; i++)
            y[r * width + i] = x[r * width + i] * scale * (double)weight[i];
    }
}

static double frequency(const struct model_config *s, uint64_t i)
{
    double f = 1 / pow(s->rope_theta, 2 * (double)i / (double)s->head_dim);
    double wave = 2 * 3.14159265358979323846 / f, old = s->rope_original_context;
    if (s->rope_scaling == ROPE_LINEAR)
        return f / s->rope_factor;
    if (s->rope_scaling == ROPE_DEFAULT || wave < old / s->rope_high_frequency)
        return f;
    if (wave > old / s->rope_low_frequency)
        return f / s->rope_factor;
    double smooth =
        (old / wave - s->rope_low_frequency) / (s->rope_high_frequency - s->rope_low_frequency);
    return (1 - smooth) * f / s->rope_factor + smooth * f;
}

static void rotate(const struct model_config *s, double *x, uint64_t position)
{
    uint64_t half = s->head_dim / 2;
    for (uint64_t i = 0; i < half; i++) {
        double angle = (double)position * frequency(s, i), a = x[i], b = x[i + half];
        x[i] = a * cos(angle) - b * sin(angle);
        x[i + half] = b * cos(angle) + a * sin(angle);
    }
}

/* out[n][heads * d] of q[n][heads * d], k and v[n][kv_heads * d], already turned */
static void attention(const struct model_config *s, const double *q, const double *k,
                      const double *v, uint64_t n, uint64_t window, double *out)
{
    uint64_t d = s->head_dim, kv = s->kv_heads * d, inner = s->heads * d;
    double *weight = xmalloc(n * sizeof(double));
    for (uint64_t t = 0; t < n; t++)
        for (uint64_t h = 0; h < s->heads; h++) {
            uint64_t g = h / (s->heads / s->kv_heads);
            double sum = 0;
            for (uint64_t j = 0; j <= t; j++) {
                double score = 0;
                for (uint64_t i = 0; i < d; i++)
                    score += q[t * inner + h * d + i] * k[j * kv + g * d + i];
                bool seen = window == 0 || t - j < window;
                weight[j] = seen ? exp(score / sqrt((double)d)) : 0;
                sum += weight[j];
            }
            for (uint64_t i = 0; i < d; i++) {
                double total = 0;
                for (uint64_t j = 0; j <= t; j++)
                    total += weight[j] * v[j * kv + g * d + i];
                out[t * inner + h * d + i] = total / sum;
            }
        }
    free(weight);
}

#endif
