/* Built without HDF5: the format has a name and can do nothing. */
#include "file.h"

const char io_hdf5_library[] = "";
const io_format io_hdf5 = { .name = "HDF5", .suffix = { ".h5", ".hdf5" } };
