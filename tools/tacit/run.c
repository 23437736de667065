/* tacit run: the options of the command. See tool.h. */
#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char usage[] =
    "Usage: tacit run [-n NODES] [--launcher NAME] [--dry-launch] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Starts PROGRAM on NODES nodes (processes). Without -n it runs on one node, and no launcher is needed.\n"
    "\n"
    "  -n, --nodes NODES   how many nodes\n"
    "  --launcher NAME     openmpi, mpich or srun; without it, the one that fits the MPI that PROGRAM is linked\n"
    "                      with, and srun inside a Slurm allocation\n"
    "  --dry-launch        print the command that would be run, and do not run it\n"
    "  -h, --help          this text\n"
    "\n"
    "As root, or with more nodes than cores, Open MPI needs settings of its own, which are made here; variables\n"
    "that are set already stay as they are. The exit status is that of the program, or 2 after a wrong option, 126\n"
    "or 127 if the program cannot be run or found, and 1 if there is no launcher.\n"
    "\n";

int tool_parse_nodes(const char *text, int *out)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    *out = (int)n;
    bool good = !errno && end != text && !*end && n >= 1 && n <= 1 << 24;
    return good ? TOOL_OK
                : tool_fail(TOOL_USAGE, "the number of nodes is '%s', but must be a whole number from 1 on", text);
}

int tool_run(int argc, char **argv)
{
    enum { OPTION_LAUNCHER = 256, OPTION_DRY };
    static const struct option options[] = { { "nodes", required_argument, NULL, 'n' },
                                             { "launcher", required_argument, NULL, OPTION_LAUNCHER },
                                             { "dry-launch", no_argument, NULL, OPTION_DRY },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    tool_request request = { 0 };
    char name[] = "tacit run";
    argv[0] = name; /* for the messages of getopt */
    for (int c; (c = getopt_long(argc, argv, "+n:h", options, NULL)) != -1;) {
        if (c == 'n') {
            int status = tool_parse_nodes(optarg, &request.nodes);
            if (status != TOOL_OK) {
                return status;
            }
        } else if (c == OPTION_LAUNCHER) {
            request.launcher = optarg;
        } else if (c == OPTION_DRY) {
            request.dry = true;
        } else if (c == 'h') {
            fputs(usage, stdout);
            tool_print_settings();
            return TOOL_OK;
        } else {
            return tool_wrong_option(argv, options);
        }
    }
    if (optind == argc) {
        return tool_fail(TOOL_USAGE, "no program is given; see `tacit run --help`");
    }
    request.program = argv + optind;
    if (!request.dry && isatty(STDERR_FILENO) == 1) { /* which the nodes cannot see behind the launcher */
        setenv("TACIT_ADVICE", "1", 0);
    }
    return tool_launch(&request);
}
