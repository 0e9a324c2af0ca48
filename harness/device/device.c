#include "harness/device/device.h"

#include <stdlib.h>

enum outcome device_open(struct device *device, const struct device_ops *ops,
                         const struct device_setting *setting)
{
    *device = (struct device){.ops = ops, .error = TEXT_INIT};
    const enum outcome outcome = ops->open(device, setting);
    if (outcome != OUTCOME_OK)
        device->state = NULL;
    return outcome;
}

void device_close(struct device *device)
{
    if (device->state)
        device->ops->close(device);
    device->state = NULL;
    text_release(&device->error);
}
