/* Advice about a node that is late (TACIT_ADVICE): the last node gets more work than the others, and then as much as
 * they. Node 0 alone says so. Kernels sleep, so that nodes which share cores compute at the same time. */
#include "mpi_program.h"

#include <time.h>
#include <unistd.h>

enum { HEARD = 4000 };

static void linger(const tacit_launch *k)
{
    const struct timespec pause = { 0, *(const int *)k->args * 1000 * 1000 };
    nanosleep(&pause, NULL);
}

/* One kernel of so many milliseconds: so this node computes from its first kernel to its last, however late it runs. */
static void work(tacit_context *ctx, int node, int ms)
{
    tacit_buffer *b;
    const tacit_buffer_desc desc = { .name = "b", .range = TACIT_RANGE(1), .elem_size = sizeof(int) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b));
    const tacit_task step = { .name = "step",
                              .range = TACIT_RANGE(1),
                              .kernel = { .host = linger },
                              .args = &ms,
                              .args_size = sizeof(ms),
                              .access = { tacit_write(b, tacit_one_to_one()) },
                              .place = tacit_place_node(node) };
    REQUIRE_OK(ctx, tacit_submit(ctx, &step));
}

/* The last node computes so many milliseconds, each of the others so many. What this node says is in `text`. */
static void run(int last, int others, char text[HEARD])
{
    tacit_context *ctx;
    const tacit_config config = { .advice = TACIT_ADVICE_ON, .threads = TACIT_THREADS_INLINE };
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    REQUIRE(file && kept >= 0);
    REQUIRE_OK(NULL, tacit_init_mpi(MPI_COMM_WORLD, &config, &ctx));
    int nodes = tacit_num_nodes(ctx);
    for (int node = 0; node < nodes; node++) {
        work(ctx, node, node == nodes - 1 ? last : others);
    }
    REQUIRE(dup2(fileno(file), STDERR_FILENO) >= 0);
    tacit_status status = tacit_finalize(ctx);
    fflush(stderr);
    REQUIRE(dup2(kept, STDERR_FILENO) >= 0);
    REQUIRE(status == TACIT_OK);
    rewind(file);
    text[fread(text, 1, HEARD - 1, file)] = '\0';
    fclose(file);
    close(kept);
}

int main(int argc, char **argv)
{
    int level, node, nodes;
    char text[HEARD], expected[100];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &node);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    unsetenv("TACIT_ADVICE");
    run(600, 150, text);
    snprintf(expected, sizeof(expected), "node %d computed ", nodes - 1);
    if (node == 0 && nodes > 1 ? !strstr(text, expected) || strchr(text, '\n') != strrchr(text, '\n') : *text) {
        stop_job(__FILE__, __LINE__, "node %d of %d said: '%s'", node, nodes, text);
    }
    run(400, 400, text);
    if (*text) {
        stop_job(__FILE__, __LINE__, "nothing should be said, but node %d of %d said: '%s'", node, nodes, text);
    }
    return MPI_Finalize() != MPI_SUCCESS;
}
