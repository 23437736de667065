/* tacit info: what this tacit is, what it finds on this machine, and how it is set. See tool.h.
 *
 * The tool is not linked with MPI: the shared library is loaded as a program would load it, which also tells whether
 * it can be, and the MPI library behind it is asked for its name. Devices are counted by starting a runtime of one
 * node, so that the numbers are those that a program gets. */
#include "report.h"

#include "base/config.h"
#include "device/cuda.h"
#include "device/host.h"
#include "device/opencl.h"
#include "run/runtime.h"

#include <dlfcn.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: tacit info [--json]\n"
    "\n"
    "Prints the version and features of this tacit, the MPI library and launchers that it finds, the cores and\n"
    "devices that a node of its own would use on this machine, those that OpenCL and CUDA have, and every setting\n"
    "with its value and where it comes from.\n"
    "\n"
    "  --json       the same as JSON\n"
    "  -h, --help   this text\n"
    "\n"
    "The exit status is 0, or 1 if a setting is wrong or the library cannot be loaded.\n";

bool tool_feature_at(size_t index, tool_feature *out)
{
    static const char *const checks[] = { "off", "basic", "full" };
    const tool_feature features[] = {
        { "mpi", TOOL_MPI_NAME },
        { "opencl", ti_opencl_is_built() ? "on" : "off" },
        { "cuda", "on" },
        { "hdf5", *TOOL_HDF5 ? TOOL_HDF5 : "off" },
        { "png", *TOOL_PNG ? TOOL_PNG : "off" },
        { "checks", checks[TI_CHECKS] },
        { "sanitizers", *TOOL_SANITIZE ? TOOL_SANITIZE : "none" },
        { "build_type", TOOL_BUILD_TYPE },
    };
    if (index >= TI_COUNT(features)) {
        return false;
    }
    *out = features[index];
    return true;
}

/* ---------------------------------------------------------------- finding out */

/* Where the shared library of this tool lies, and whether it loads. NULL if not, and in builds without one. */
static void *load_library(tool_facts *facts)
{
    ti_strbuf path = { 0 };
    char real[PATH_MAX], *prefix;
    void *library = NULL;
    if (!*TOOL_LIBRARY) {
        return NULL;
    }
    prefix = tool_prefix();
    ti_strbuf_add(&path, "%s/%s", prefix ? prefix : "", TOOL_LIBRARY);
    if (prefix && realpath(path.text, real)) {
        facts->library = ti_strdup(real);
        library = dlopen(real, RTLD_LAZY | RTLD_LOCAL);
        if (!library) {
            ti_strbuf_add(&facts->library_problem, "%s", dlerror());
        }
    } else {
        ti_strbuf_add(&facts->library_problem, "%s is not there: build or install tacit again", path.text);
    }
    ti_strfree(prefix);
    ti_strbuf_fini(&path);
    return library;
}

/* MPI_Get_library_version may be called before MPI_Init. It fills at most MPI_MAX_LIBRARY_VERSION_STRING bytes, 8192
 * in MPICH. */
static void ask_mpi(tool_facts *facts, void *library)
{
    char text[16384] = "";
    int length = 0;
    int (*version)(char *, int *) = NULL;
    void *symbol = library ? dlsym(library, "MPI_Get_library_version") : NULL;
    if (symbol) {
        memcpy(&version, &symbol, sizeof(version)); /* C has no other way from an object pointer */
        version(text, &length);
        text[strcspn(text, "\n")] = '\0'; /* MPICH tells its life */
        for (char *tab = text; (tab = strchr(tab, '\t'));) {
            *tab = ' ';
        }
        facts->mpi_library = ti_strdup(text);
    }
}

/* The devices of a node that has this machine for itself. */
static void count_devices(tool_facts *facts, const tacit_config *config)
{
    tacit_status status = TACIT_OK;
    ti_runtime *runtime = ti_runtime_create(&(ti_runtime_desc){ .config = *config, .comm = ti_comm_self_create() },
                                            &status, &facts->settings_problem);
    if (runtime) {
        const ti_system *system = ti_runtime_system(runtime);
        facts->devices = ti_system_hosts(system);
        facts->accelerators = system->accelerators;
        facts->accelerator = system->accelerator == TI_CUDA ? "CUDA" : "OpenCL";
        facts->workers = system->workers;
        ti_pin_describe(ti_runtime_pin(runtime), &facts->bound);
        facts->discrete = system->memories > 1 + system->accelerators;
        ti_runtime_destroy(runtime);
    }
}

static void find_out(tool_facts *facts)
{
    tacit_config config;
    ask_mpi(facts, load_library(facts));
    facts->cores = ti_host_cores();
    if (ti_config_resolve(NULL, &config, &facts->settings_problem) == TACIT_OK) {
        config.graph = NULL;
        count_devices(facts, &config);
    }
}

/* ---------------------------------------------------------------- text */

static void print_launchers(void)
{
    tool_launcher l;
    puts("launchers");
    for (size_t i = 0; tool_launcher_at(i, &l); i++) {
        printf("  %-20s %s%s%s\n", l.name, l.path ? l.path : "not found (", l.path ? "" : l.library, l.path ? "" : ")");
        ti_strfree(l.path);
    }
}

static void print_settings(const tool_facts *facts)
{
    const ti_setting *s;
    puts("settings");
    for (size_t i = 0; (s = ti_config_setting(i)); i++) {
        bool set = ti_config_source(i, NULL) == TI_FROM_ENVIRONMENT;
        printf("  %-20s %s (%s)\n", s->name, set ? getenv(s->name) : s->initial, set ? "environment" : "default");
    }
    if (facts->settings_problem.length > 0) {
        printf("  wrong: %s\n", facts->settings_problem.text);
    }
}

/* Also those that TACIT_DEVICES does not name. */
static void print_opencl(void)
{
    ti_opencl_fact f;
    for (int i = 0; ti_opencl_fact_of(i, &f); i++) {
        char name[32];
        snprintf(name, sizeof(name), "opencl:%d", i);
        printf("  %-20s %s%s, %d unit%s, %.1f GiB of memory, by %s\n", name, f.is_gpu ? "GPU " : "", f.name, f.units,
               f.units == 1 ? "" : "s", (double)f.memory / (1 << 30), f.platform);
    }
}

static void print_cuda(void)
{
    ti_cuda_fact f;
    for (int i = 0; ti_cuda_fact_of(i, &f); i++) {
        char name[32];
        snprintf(name, sizeof(name), "cuda:%d", i);
        printf("  %-20s %s, %d multiprocessors, %.1f GiB of memory", name, f.name, f.units,
               (double)f.memory / (1 << 30));
        if (f.bandwidth > 0) {
            printf(" at %.2f TB/s", f.bandwidth / 1e12);
        }
        printf(", compute capability %d.%d\n", f.major, f.minor);
    }
}

static void print_text(const tool_facts *facts)
{
    const char *without_mpi = strcmp(TOOL_MPI_KIND, "none") == 0 ? "none: programs run on one node" : "not known";
    tool_feature f;
    printf("tacit %d.%d.%d\n", TACIT_VERSION_MAJOR, TACIT_VERSION_MINOR, TACIT_VERSION_PATCH);
    puts("features");
    for (size_t i = 0; tool_feature_at(i, &f); i++) {
        printf("  %-20s %s\n", f.name, f.value);
    }
    puts("libraries");
    printf("  %-20s %s\n", "libtacit", facts->library ? facts->library : "static only");
    if (facts->library_problem.length > 0) {
        printf("  cannot be loaded: %s\n", facts->library_problem.text);
    }
    printf("  %-20s %s\n", "MPI", facts->mpi_library ? facts->mpi_library : without_mpi);
    puts("this machine");
    printf("  %-20s %d\n", "cores", facts->cores);
    if (facts->devices > 0) {
        printf("  %-20s %d host, %d worker%s%s%s", "devices", facts->devices, facts->workers,
               facts->workers == 1 ? "" : "s", facts->devices > 1 ? " each" : "",
               facts->discrete ? ", memories of their own" : "");
        if (facts->accelerators > 0) {
            printf("; %d %s", facts->accelerators, facts->accelerator);
        }
        putchar('\n');
        printf("  %-20s %s\n", "bound", ti_strbuf_text(&facts->bound));
    }
    print_opencl();
    print_cuda();
    print_launchers();
    print_settings(facts);
}

int tool_info(int argc, char **argv)
{
    static const struct option options[] = { { "json", no_argument, NULL, 'j' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    tool_facts facts = { 0 };
    char name[] = "tacit info";
    bool json = false;
    argv[0] = name; /* for the messages of getopt */
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(usage, stdout);
            return TOOL_OK;
        }
        if (c != 'j') {
            return tool_wrong_option(argv, options);
        }
        json = true;
    }
    if (optind < argc) {
        return tool_fail(TOOL_USAGE, "`tacit info` takes no argument, but '%s' is one", argv[optind]);
    }
    if (json && !tool_json_is_there()) {
        return TOOL_FAILURE;
    }
    find_out(&facts);
    int status = facts.settings_problem.length + facts.library_problem.length > 0 ? TOOL_FAILURE : TOOL_OK;
    if (json) {
        int printed = tool_json_info(&facts);
        status = printed == TOOL_OK ? status : printed;
    } else {
        print_text(&facts);
    }
    ti_strfree(facts.library);
    ti_strfree(facts.mpi_library);
    ti_strbuf_fini(&facts.library_problem);
    ti_strbuf_fini(&facts.bound);
    ti_strbuf_fini(&facts.settings_problem);
    return status;
}
