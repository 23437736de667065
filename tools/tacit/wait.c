/* Running a program and waiting for it, whatever signals come meanwhile. See tool.h.
 *
 * Signals that end a process are noted, and passed on to the program: it ends, and the tool goes on and removes what it
 * has put into folders. main.c ends the tool by the signal then. */
#include "tool.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* Until the process has ended. */
static void tick_while(int child, int *how)
{
    enum { LOOKS = 25 };
    const struct timespec nap = { 0, 20 * 1000 * 1000 };
    for (int looks = 1; waitpid((pid_t)child, how, WNOHANG) == 0; looks++) {
        nanosleep(&nap, NULL);
        if (looks % LOOKS == 0) {
            ticking.call(ticking.user);
        }
    }
    tool_progress_end();
}

int tool_wait(int child)
{
    int how = 0;
    program = child;
    if (caught) { /* before it could be passed on */
        kill((pid_t)child, caught);
    }
    if (ticking.call) {
        tick_while(child, &how);
    } else {
        while (waitpid((pid_t)child, &how, 0) < 0 && errno == EINTR) {
        }
    }
    program = 0;
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
    *exit_status = tool_wait(child);
    return TOOL_OK;
}

void tool_show_output(int output)
{
    char text[LAST + 1];
    off_t size = lseek(output, 0, SEEK_END);
    ssize_t length = pread(output, text, LAST, size > LAST ? size - LAST : 0);
    if (length > 0 && !caught) {
        fprintf(stderr, "%.*s%s", (int)length, text, text[length - 1] != '\n' ? "\n" : "");
    }
}
