/* Choosing a launcher and building its command. See tool.h.
 *
 * The launcher must belong to the MPI library of the program: another one would start N programs that each believe to
 * be alone. */
#include "tool.h"

#include "base/strbuf.h"
#include "base/vec.h"
#include "device/host.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

extern char **environ;

typedef TI_VEC(char *) words;

/* A command that is being built: its words, and the variables to set unless they are set already. */
typedef struct command {
    words argv;           /* owned */
    words env;            /* "NAME=value", owned */
    bool is_openmpi_here; /* Open MPI's launcher, all on this machine */
} command;

typedef struct launcher {
    const char *name; /* for --launcher */
    tool_mpi mpi;
    const char *library; /* in messages */
    const char *package; /* on Debian */
    const char *programs[4];
} launcher;

static const launcher launchers[] = {
    { "openmpi", TOOL_MPI_OPENMPI, "Open MPI", "openmpi-bin", { "mpirun.openmpi", "orterun", "prterun" } },
    { "mpich", TOOL_MPI_MPICH, "MPICH", "mpich", { "mpiexec.mpich", "mpiexec.hydra" } },
    { "srun", TOOL_MPI_UNKNOWN, "Slurm", "slurm-client", { "srun" } },
};
enum { OPENMPI, MPICH, SRUN };

static void add(words *list, const char *text)
{
    ti_vec_push(list, ti_strdup(text));
}

static void free_words(words *list)
{
    for (size_t i = 0; i < list->count; i++) {
        ti_strfree(list->data[i]);
    }
    ti_vec_fini(list);
}

/* ---------------------------------------------------------------- which launcher */

/* The launcher's path, or NULL. Names that belong to no MPI in particular are asked for theirs. */
static char *find_launcher(const launcher *l)
{
    static const char *const generic[] = { "mpirun", "mpiexec" };
    for (size_t i = 0; i < TI_COUNT(l->programs) && l->programs[i]; i++) {
        char *path = tool_find(l->programs[i]);
        if (path) {
            return path;
        }
    }
    for (size_t i = 0; i < TI_COUNT(generic) && l->mpi != TOOL_MPI_UNKNOWN; i++) {
        char *path = tool_find(generic[i]);
        if (path && tool_mpi_of_launcher(path) == l->mpi) {
            return path;
        }
        ti_strfree(path);
    }
    return NULL;
}

static const launcher *launcher_named(const char *name)
{
    for (size_t i = 0; i < TI_COUNT(launchers); i++) {
        if (strcmp(name, launchers[i].name) == 0) {
            return &launchers[i];
        }
    }
    return NULL;
}

/* Tries the candidates in order; stores the path of the first that is installed. */
static const launcher *first_found(const launcher *const *candidates, int count, char **path)
{
    for (int i = 0; i < count; i++) {
        *path = find_launcher(candidates[i]);
        if (*path) {
            return candidates[i];
        }
    }
    return NULL;
}

/* On failure NULL, after saying why. */
static const launcher *choose(const tool_request *request, tool_mpi mpi, char **path)
{
    const launcher *wanted[3], *found;
    int count = 0;
    if (request->launcher) {
        wanted[count++] = launcher_named(request->launcher);
    } else {
        if (getenv("SLURM_JOB_ID")) {
            wanted[count++] = &launchers[SRUN];
        }
        bool mpich_first = mpi == TOOL_MPI_UNKNOWN && strcmp(TOOL_MPI_KIND, "mpich") == 0;
        if (mpi != TOOL_MPI_MPICH && !mpich_first) {
            wanted[count++] = &launchers[OPENMPI];
        }
        if (mpi != TOOL_MPI_OPENMPI) {
            wanted[count++] = &launchers[MPICH];
        }
        if (mpich_first) {
            wanted[count++] = &launchers[OPENMPI];
        }
    }
    found = first_found(wanted, count, path);
    if (!found) {
        const launcher *l = wanted[count - 1];
        if (!request->launcher && mpi == TOOL_MPI_UNKNOWN) {
            tool_fail(TOOL_FAILURE,
                      "no MPI launcher was found: install openmpi-bin or mpich, or leave out -n to run on one node");
        } else {
            tool_fail(TOOL_FAILURE, "the launcher of %s was not found: install %s", l->library, l->package);
        }
    } else if (found->mpi != TOOL_MPI_UNKNOWN && mpi != TOOL_MPI_UNKNOWN && mpi != found->mpi) {
        tool_fail(0, "warning: %s is linked with another MPI than %s; its nodes will not find each other",
                  request->program[0], found->library);
    }
    return found;
}

/* ---------------------------------------------------------------- commands */

/* Nodes on other machines get the settings too: Open MPI passes on nothing unless it is told to. */
static void forward_settings(command *c)
{
    for (char **e = environ; *e; e++) {
        if (strncmp(*e, "TACIT_", 6) == 0) {
            ti_strbuf name = { 0 };
            ti_strbuf_add(&name, "%.*s", (int)strcspn(*e, "="), *e);
            add(&c->argv, "-x");
            add(&c->argv, name.text);
            ti_strbuf_fini(&name);
        }
    }
}

/* Cores are divided among nodes by tacit itself, hence no binding. Slots of a batch system are respected; on a plain
 * machine mpirun counts slots by cores and would refuse more nodes. */
static void openmpi_command(command *c, int nodes)
{
    if (geteuid() == 0) {
        add(&c->env, "OMPI_ALLOW_RUN_AS_ROOT=1");
        add(&c->env, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
    }
    if (nodes > ti_host_cores()) {
        add(&c->env, "OMPI_MCA_mpi_yield_when_idle=1");
    }
    if (!tool_can_read_processes()) {
        add(&c->env, "OMPI_MCA_btl_vader_single_copy_mechanism=none");
    }
    add(&c->env, "OMPI_MCA_btl_base_warn_component_unused=0"); /* no fast network is no mistake */
    if (!getenv("SLURM_JOB_ID") && !getenv("PBS_JOBID") && !getenv("LSB_JOBID")) {
        add(&c->argv, "--oversubscribe");
        c->is_openmpi_here = true;
    }
    add(&c->argv, "--bind-to");
    add(&c->argv, "none");
    add(&c->argv, "--mca");
    add(&c->argv, "orte_abort_on_non_zero_status");
    add(&c->argv, "1");
    forward_settings(c);
}

/* Slurm must speak the start-up protocol of the program's MPI, else every process believes to be alone. Steps have to
 * ask for the cores of the job (since Slurm 22.05), and to be ended when one of their processes is killed. */
static void srun_command(command *c, tool_mpi mpi)
{
    const char *cores = getenv("SLURM_CPUS_PER_TASK");
    if (cores && *cores && !getenv("SRUN_CPUS_PER_TASK")) {
        ti_strbuf option = { 0 };
        ti_strbuf_add(&option, "--cpus-per-task=%s", cores);
        add(&c->argv, option.text);
        ti_strbuf_fini(&option);
    }
    if (!getenv("SLURM_KILL_BAD_EXIT")) {
        add(&c->argv, "--kill-on-bad-exit=1");
    }
    if (!getenv("SLURM_MPI_TYPE") && mpi == TOOL_MPI_OPENMPI) {
        add(&c->argv, "--mpi=pmix");
    } else if (!getenv("SLURM_MPI_TYPE") && mpi == TOOL_MPI_MPICH) {
        add(&c->argv, "--mpi=pmi2");
    }
}

static void build(command *c, const launcher *l, const char *path, const tool_request *request, tool_mpi mpi)
{
    char nodes[16];
    snprintf(nodes, sizeof(nodes), "%d", request->nodes);
    add(&c->argv, path);
    add(&c->argv, "-n");
    add(&c->argv, nodes);
    if (l == &launchers[OPENMPI]) {
        openmpi_command(c, request->nodes);
    } else if (l == &launchers[SRUN]) {
        srun_command(c, mpi);
    }
}

static void print_word(const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=:,+-";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, stdout);
        return;
    }
    putchar('\'');
    for (; *word; word++) {
        fputs(*word == '\'' ? "'\\''" : (char[]){ *word, '\0' }, stdout);
    }
    putchar('\'');
}

/* One line that a shell understands. */
static void print_command(const command *c)
{
    for (size_t i = 0; i < c->env.count; i++) {
        print_word(c->env.data[i]);
        putchar(' ');
    }
    for (size_t i = 0; c->argv.data[i]; i++) {
        print_word(c->argv.data[i]);
        putchar(c->argv.data[i + 1] ? ' ' : '\n');
    }
}

static void drop_env_that_is_set(command *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->env.count; i++) {
        char *word = c->env.data[i], *equals = strchr(word, '=');
        *equals = '\0';
        bool is_set = getenv(word) != NULL;
        *equals = '=';
        if (is_set) {
            ti_strfree(word);
        } else {
            c->env.data[kept++] = word;
        }
    }
    c->env.count = kept;
}

static int execute(const command *c)
{
    for (size_t i = 0; i < c->env.count; i++) {
        putenv(c->env.data[i]);
    }
    execv(c->argv.data[0], c->argv.data);
    return tool_fail(TOOL_NOT_EXECUTABLE, "%s cannot be run: %s", c->argv.data[0], strerror(errno));
}

int tool_cannot_run(const char *name)
{
    if (strchr(name, '/')) {
        bool there = access(name, F_OK) == 0;
        return there ? tool_fail(TOOL_NOT_EXECUTABLE, "%s is not an executable file", name)
                     : tool_fail(TOOL_NOT_FOUND, "there is no program %s", name);
    }
    bool here = access(name, F_OK) == 0;
    return tool_fail(TOOL_NOT_FOUND, here ? "%s is not in PATH; did you mean ./%s?" : "%s is not in PATH (%s)", name,
                     here ? name : "give its path if it lies elsewhere");
}

/* The words in front of the program; an exit status if there is no way. */
static int launcher_words(command *c, const tool_request *request, const char *program)
{
    char *path = NULL;
    tool_mpi mpi = tool_mpi_of(program);
    if (mpi == TOOL_MPI_NONE && request->nodes > 1) {
        return tool_fail(
            TOOL_FAILURE,
            "%s uses a tacit that was built without MPI: it runs on one node only; build with -DTACIT_MPI=ON", program);
    }
    const launcher *l = choose(request, mpi, &path);
    if (!l) {
        return TOOL_FAILURE;
    }
    build(c, l, path, request, mpi);
    ti_strfree(path);
    return TOOL_OK;
}

/* The whole command; an exit status, after a sentence, if there is none. */
static int prepare(command *c, const tool_request *request)
{
    int status = TOOL_OK;
    if (request->launcher && !launcher_named(request->launcher)) {
        return tool_fail(TOOL_USAGE, "there is no launcher '%s'; there are openmpi, mpich and srun", request->launcher);
    }
    char *program = tool_find(request->program[0]);
    if (!program) {
        return tool_cannot_run(request->program[0]);
    }
    if (request->nodes > 0) {
        status = launcher_words(c, request, program);
    }
    add(&c->argv, program);
    for (char **word = request->program + 1; *word; word++) {
        add(&c->argv, *word);
    }
    ti_vec_push(&c->argv, NULL);
    drop_env_that_is_set(c);
    ti_strfree(program);
    return status;
}

/* TOOL_OK and the exit status if the program could be started. A launcher ends with the tool, whatever ends that. */
static int execute_and_wait(const command *c, const tool_request *request, int *exit_status)
{
    const pid_t tool = getpid();
    char folder[PATH_MAX];
    bool has_folder = c->is_openmpi_here && tool_session_begin(folder);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (request->output_to_stderr) {
            dup2(STDERR_FILENO, STDOUT_FILENO);
        }
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(getppid() == tool ? execute(c) : TOOL_FAILURE);
    }
    int status = child < 0 ? tool_fail(TOOL_FAILURE, "no process can be started: %s", strerror(errno)) : TOOL_OK;
    if (status == TOOL_OK) {
        *exit_status = tool_wait(child, request->nodes);
    }
    if (has_folder) {
        tool_session_end(folder);
    }
    return status;
}

int tool_launch(const tool_request *request)
{
    command c = { 0 };
    int status = prepare(&c, request), exit_status;
    if (status == TOOL_OK && request->dry) {
        print_command(&c);
    } else if (status == TOOL_OK && request->nodes > 0) {
        tool_pass_signals();
        status = execute_and_wait(&c, request, &exit_status);
        status = status == TOOL_OK ? exit_status : status;
    } else if (status == TOOL_OK) {
        status = execute(&c);
    }
    free_words(&c.argv);
    free_words(&c.env);
    return status;
}

/* Signals are for the program; it is waited for, whatever it makes of them. */
int tool_launch_and_wait(const tool_request *request, int *exit_status)
{
    command c = { 0 };
    int status = prepare(&c, request);
    if (status == TOOL_OK) {
        status = execute_and_wait(&c, request, exit_status);
    }
    free_words(&c.argv);
    free_words(&c.env);
    return status;
}

bool tool_launcher_at(size_t index, tool_launcher *out)
{
    if (index >= TI_COUNT(launchers)) {
        return false;
    }
    const launcher *l = &launchers[index];
    *out = (tool_launcher){ .name = l->name, .library = l->library, .path = find_launcher(l) };
    return true;
}
