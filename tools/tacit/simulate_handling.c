/* tacit simulate --calibrate: what a thread takes for an instruction besides all that has a figure of its own
 * (`handling` of src/sim/platform.h). See simulate.h.
 *
 * The steps of a stencil whose kernels do nothing are timed on two nodes of one thread each, where everything happens
 * one after the other, and simulated with what has been measured before. What the simulated step lacks is divided
 * among its instructions: it grows in proportion to `handling`, and how fast is seen by simulating it once more. */
#include "simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NODES = 2, STEPS = 400 };

static const double trial = 1000; /* ns of handling, of the second simulation */

/* One thread on each node, or what the machine has; no dry run is left over from a simulation. */
static void alone(bool on)
{
    static const char *const dry[] = { "TACIT_DRY_RUN", "TACIT_SIMULATE", "TACIT_SIMULATE_REPORT" };
    static const char *const one[] = { "TACIT_THREADS", "TACIT_WORKERS", "TACIT_PROGRESS", "TACIT_DEVICES" };
    for (size_t i = 0; i < TI_COUNT(dry); i++) {
        unsetenv(dry[i]);
    }
    for (size_t i = 0; i < TI_COUNT(one); i++) {
        unsetenv(one[i]);
    }
    if (on) {
        setenv("TACIT_THREADS", "0", 1);
        setenv("TACIT_WORKERS", "1", 1);
    }
}

static bool read_number(const char *path, double *ns)
{
    FILE *file = fopen(path, "r");
    bool good = file && fscanf(file, "%lf", ns) == 1 && *ns > 0;
    if (file) {
        fclose(file);
    }
    unlink(path);
    return good;
}

/* Of one step of the stencil, by the difference of two runs. */
static int simulate_step(const char *folder, const char *machine, char *path, double handling, double *ns)
{
    double all[2] = { 0 };
    int status = TOOL_OK;
    for (int i = 0; i < 2 && status == TOOL_OK; i++) {
        char phase[] = "steps", nowhere[] = "-", count[16];
        char *program[] = { path, phase, nowhere, count, NULL };
        simulate_options o = { .network = machine, .machine = machine, .path = path, .program = program };
        tool_simulation result = { 0 };
        snprintf(count, sizeof(count), "%d", (i + 1) * STEPS);
        ti_strbuf_add(&o.lines, "workers = 1\nkernel step = 0 ns\nhandling = %g ns\n", handling);
        status = simulate_once(&o, folder, NODES, &result);
        all[i] = result.ns;
        tool_simulation_fini(&result);
        ti_strbuf_fini(&o.lines);
    }
    *ns = (all[1] - all[0]) / STEPS;
    return status;
}

static int measure_step(char *path, char *file, double *ns)
{
    char phase[] = "steps", count[16];
    char *program[] = { path, phase, file, count, NULL };
    const tool_request request = { .nodes = NODES, .program = program, .output_to_stderr = true };
    int how = 0;
    snprintf(count, sizeof(count), "%d", STEPS);
    int status = tool_launch_and_wait(&request, &how);
    if (tool_caught()) {
        return 128 + tool_caught();
    }
    if (status == TOOL_OK && (how || !read_number(file, ns))) {
        status = tool_fail(TOOL_FAILURE, "this machine was not measured: the program that does it ended with status %d",
                           how);
    }
    return status;
}

int simulate_calibrate_handling(const char *folder, char *path, ti_strbuf *out)
{
    char machine[128], file[128];
    double real = 0, none = 0, some = 0;
    snprintf(machine, sizeof(machine), "%s/machine", folder);
    snprintf(file, sizeof(file), "%s/step", folder);
    alone(true);
    int status = measure_step(path, file, &real);
    status = status == TOOL_OK ? simulate_write(out, machine) : status;
    status = status == TOOL_OK ? simulate_step(folder, machine, path, 0, &none) : status;
    status = status == TOOL_OK ? simulate_step(folder, machine, path, trial, &some) : status;
    unlink(machine);
    alone(false);
    if (status == TOOL_OK) {
        double lacks = some > none ? (real - none) / (some - none) : 0;
        ti_strbuf_add(out, "%-17s = %.4g ns\n", "handling", lacks > 0 ? lacks * trial : 0);
    }
    return status;
}
