/* highwater: the command that the user types. Links neither CUDA nor MPI. */
#include "harness/command/command.h"

int main(int argc, char **argv)
{
    return command_main(argc, argv);
}
