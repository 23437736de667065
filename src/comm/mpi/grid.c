/* Communicators of rows and columns: see grid.h. */
#include "comm/mpi/grid.h"

#include "base/check.h"
#include "grid/split.h"

#define CALL TI_MPI_CALL

MPI_Comm ti_mpi_grid_find(const ti_mpi_grid *grid, int members, int stride)
{
    for (int i = 0; i < grid->groups; i++) {
        if (grid->group[i].members == members && grid->group[i].stride == stride) {
            return grid->group[i].mpi;
        }
    }
    return MPI_COMM_NULL;
}

static int add(ti_mpi_grid *grid, MPI_Comm mpi, int node, int members, int stride, const char **call)
{
    if (ti_mpi_grid_find(grid, members, stride) != MPI_COMM_NULL) {
        return MPI_SUCCESS;
    }
    TI_ASSERT(members > 0 && stride > 0 && grid->groups < TI_MPI_GRID_GROUPS);
    MPI_Comm group;
    int colour = node / (stride * members) * stride + node % stride;
    TI_MPI_TRY(CALL(call, MPI_Comm_split, mpi, colour, node, &group));
    grid->group[grid->groups++] = (struct ti_mpi_grid_group){ members, stride, group };
    return CALL(call, MPI_Comm_set_errhandler, group, MPI_ERRORS_RETURN);
}

int ti_mpi_grid_init(ti_mpi_grid *grid, MPI_Comm mpi, int node, int nodes, const char **call)
{
    int64_t parts[2];
    *grid = (ti_mpi_grid){ .groups = 0 };
    ti_split_grid(nodes, parts);
    for (int i = 0; i < 2 && parts[1] > 1; i++) {
        int rows = (int)parts[i], columns = (int)parts[1 - i];
        TI_MPI_TRY(add(grid, mpi, node, columns, 1, call));
        TI_MPI_TRY(add(grid, mpi, node, rows, columns, call));
    }
    return MPI_SUCCESS;
}

int ti_mpi_grid_fini(ti_mpi_grid *grid, const char **call)
{
    int code = MPI_SUCCESS;
    for (int i = 0; i < grid->groups && !code; i++) {
        code = CALL(call, MPI_Comm_free, &grid->group[i].mpi);
    }
    grid->groups = 0;
    return code;
}
