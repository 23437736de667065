/* Built without libpng. */
#include "file.h"

const char io_png_library[] = "";

bool io_png_write(const char *path, size_t rows, size_t columns, const unsigned char *pixel, size_t row_stride,
                  int colours, io_state *s)
{
    (void)path, (void)rows, (void)columns, (void)pixel, (void)row_stride, (void)colours;
    return io_say(s, "tacit-io was built without libpng");
}
