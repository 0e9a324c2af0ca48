#include "harness/command/command.h"

const struct command command_replay = {
    .name = "replay",
    .summary = "an allocation trace through an allocator on a simulated device",
    .not_yet = "plan runs a workload's own allocations on a simulated device",
};
