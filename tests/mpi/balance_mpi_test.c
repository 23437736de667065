/* TACIT_BALANCE over MPI: on a cluster of which one node is slow, shares move to the others; all nodes choose the same,
 * results are the same bit by bit, and what was chosen is repeated by the setting that the log names. */
#include "api/balance.h"
#include "api/context.h"
#include "mpi_program.h"

static void carry_out(const char *setting, int slow, balance_notes *notes, char *said, size_t room)
{
    tacit_context *ctx;
    const tacit_config config = { .balance = setting, .workers = 1 };
    memset(notes, 0, sizeof(*notes));
    notes->slow = slow;
    notes->waits = true;
    REQUIRE_OK(NULL, tacit_init_mpi(MPI_COMM_WORLD, &config, &ctx));
    REQUIRE_OK(ctx, balance_program(ctx, notes));
    REQUIRE(balance_is_right(notes));
    snprintf(said, room, "%s", ti_strbuf_text(&ti_runtime_balance(ctx->runtime)->said));
    REQUIRE_OK(NULL, tacit_finalize(ctx));
}

int main(int argc, char **argv)
{
    static balance_notes first, again;
    char said[400], repeated[400];
    int level, nodes, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &nodes);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int slow = nodes / 2;
    carry_out("auto", nodes > 1 ? slow : -1, &first, said, sizeof(said));
    REQUIRE(nodes > 1 || (said[0] == '\0' && first.items[BALANCE_STEPS - 1] == BALANCE_ROWS));
    if (nodes > 1) {
        unsigned before = (unsigned)(BALANCE_ROWS / nodes), now = first.items[BALANCE_STEPS - 1];
        REQUIRE(strncmp(said, "16:", 3) == 0 && first.items[0] - before <= 1);
        REQUIRE(rank != slow || now <= before / 2);
        carry_out(said, -1, &again, repeated, sizeof(repeated));
        REQUIRE(strcmp(said, repeated) == 0 && memcmp(first.items, again.items, sizeof(first.items)) == 0);
    }
    MPI_Finalize();
    return 0;
}
