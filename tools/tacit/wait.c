/* Running a program and waiting for it, whatever signals come meanwhile. See tool.h.
 *
 * Signals that end a process are noted, and passed on to the program: it ends, and the tool goes on and removes what it
 * has put into folders. main.c ends the tool by the signal then. */
#include "tool.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { LAST = 2000 /* bytes of output that are shown */ };

static volatile sig_atomic_t caught, program; /* the signal; the process that is waited for */
static volatile sig_atomic_t hinted;

int tool_caught(void)
{
    return caught;
}

/* A terminal sends its signals to the program, too: it must not get them twice. */
static void catch_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    caught = signal;
    if (program > 0 && info->si_code != SI_KERNEL) {
        kill((pid_t)program, signal);
    }
}

/* What a program or its launcher may want to hear of, and the tool does not. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (program > 0 && info->si_code != SI_KERNEL) {
        kill((pid_t)program, signal);
    }
}

void tool_pass_signals(void)
{
    static const int signals[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGCONT };
    struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO };
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaction(signals[i], &action, NULL);
    }
    tool_catch_signals();
}

void tool_catch_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction action, before;
        memset(&action, 0, sizeof(action));
        action.sa_sigaction = catch_signal;
        action.sa_flags = SA_SIGINFO;
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

/* Once: a loop may wait for a result that never comes. */
static void hint(int number)
{
    static const char text[] =
        "\ntacit: this takes more than 10 s. Fences give zeros in a plan, so a loop that ends when a result is good "
        "does not end, and work on results is in vain: give the program an option that bounds it, or leave the "
        "work out if tacit_is_dry_run (Ctrl-C ends this)\n";
    signal(number, SIG_IGN);
    hinted = 1;
    if (write(2, text, sizeof(text) - 1) < 0) {
        return;
    }
}

void tool_hint_later(void)
{
    enum { LONG = 10 /* seconds */ };
    signal(SIGALRM, hinted ? SIG_IGN : hint);
    alarm(LONG);
}

static struct {
    void (*call)(void *user);
    void *user;
} ticking;

void tool_tick(void (*tick)(void *user), void *user)
{
    ticking.call = isatty(STDERR_FILENO) ? tick : NULL;
    ticking.user = user;
}

/* The state of a process and its parent, of /proc/PID/stat, and if it has ended, how; 0 if that cannot be read. */
static char state_of(const char *pid, int *parent, int *how)
{
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "r");
    size_t size = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
    if (f) {
        fclose(f);
    }
    line[size] = '\0';
    const char *at = strrchr(line, ')'); /* behind the name, which may be anything */
    char state = 0;
    if (!at || sscanf(at, ") %c %d", &state, parent) != 2) {
        return 0;
    }
    enum { FIELDS_BETWEEN = 50 }; /* from the state on; the last one is the status */
    for (int i = 0; i < FIELDS_BETWEEN && at; i++) {
        at = strchr(at + 1, ' ');
    }
    *how = at ? atoi(at) : 0;
    return state;
}

/* How many processes the launcher has started that have ended, if none of them lives; `*how` is of one that failed. */
static int ended_children(pid_t launcher, int *how)
{
    DIR *all = opendir("/proc");
    int ended = 0, alive = 0;
    *how = 0;
    for (const struct dirent *d; all && (d = readdir(all));) {
        int parent = 0, status = 0;
        char state = isdigit((unsigned char)d->d_name[0]) ? state_of(d->d_name, &parent, &status) : 0;
        if (state && parent == launcher) {
            ended += state == 'Z';
            alive += state != 'Z';
            *how = state == 'Z' && status ? status : *how;
        }
    }
    if (all) {
        closedir(all);
    }
    return alive ? 0 : ended;
}

/* A launcher that has started `nodes` processes here and does not notice that all have ended will never end: that of
 * Open MPI 4 locks itself up now and then when a job is aborted (in PMIx_server_finalize). It is killed, and `*how` is
 * what ended a node. Asked about once a second. */
static bool is_stuck(pid_t launcher, int nodes, int *looks, int *how)
{
    enum { PATIENCE = 10 /* seconds */ };
    *looks = ended_children(launcher, how) >= nodes ? *looks + 1 : 0;
    if (*looks < PATIENCE) {
        return false;
    }
    fprintf(stderr, "tacit: the launcher did not end within %d s after all nodes had ended: it was stopped\n",
            PATIENCE);
    kill(launcher, SIGKILL);
    waitpid(launcher, NULL, 0);
    return true;
}

/* Gives up the core until the process has ended or `ms` have gone by. */
static void sleep_until_end(int descriptor, int ms)
{
    enum { LOOK = 20 /* ms, where a kernel has no descriptors of processes */ };
    struct pollfd p = { .fd = descriptor, .events = POLLIN };
    poll(&p, descriptor >= 0, descriptor >= 0 || ms < LOOK ? ms : LOOK);
}

static long seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec;
}

int tool_wait(int child, int nodes)
{
    enum { TICK = 500 /* ms */ };
    int how = 0, looks = 0, descriptor = (int)syscall(SYS_pidfd_open, (pid_t)child, 0);
    long before = seconds();
    program = child;
    if (caught) { /* before it could be passed on */
        kill((pid_t)child, caught);
    }
    for (pid_t ended; (ended = waitpid((pid_t)child, &how, WNOHANG)) == 0 || (ended < 0 && errno == EINTR);) {
        sleep_until_end(descriptor, TICK);
        if (ticking.call) {
            ticking.call(ticking.user);
        }
        long now = seconds();
        if (nodes > 0 && now != before && is_stuck((pid_t)child, nodes, &looks, &how)) {
            break;
        }
        before = now;
    }
    if (ticking.call) {
        tool_progress_end();
    }
    program = 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
}

int tool_run_quietly(const char *path, char **argv, int *output, int *exit_status)
{
    static const char *const job[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS" };
    posix_spawn_file_actions_t actions;
    pid_t child;
    for (size_t i = 0; i < sizeof(job) / sizeof(job[0]); i++) {
        unsetenv(job[i]); /* of the tool; its program plans alone, again and again */
    }
    *output = memfd_create("output", MFD_CLOEXEC);
    if (*output < 0) {
        return tool_fail(TOOL_FAILURE, "no process can be started: %s", strerror(errno));
    }
    fflush(stdout);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, *output, 1);
    posix_spawn_file_actions_adddup2(&actions, *output, 2);
    int error = posix_spawn(&child, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        return tool_fail(TOOL_NOT_EXECUTABLE, "%s cannot be run: %s", path, strerror(error));
    }
    *exit_status = tool_wait(child, 0);
    return TOOL_OK;
}

bool tool_show_output(int output)
{
    char text[LAST + 1];
    off_t size = lseek(output, 0, SEEK_END);
    ssize_t length = pread(output, text, LAST, size > LAST ? size - LAST : 0);
    if (length > 0 && !caught) {
        fprintf(stderr, "%.*s%s", (int)length, text, text[length - 1] != '\n' ? "\n" : "");
    }
    return length > 0;
}
