/* Pictures by libpng: pixels that are numbers of colours, and the palette. Node 0's host task. */
#include "file.h"

#include <png.h>
#include <string.h>

const char io_png_library[] = PNG_LIBPNG_VER_STRING;

bool io_png_write(const char *path, size_t rows, size_t columns, const unsigned char *pixel, size_t row_stride,
                  int colours, io_state *s)
{
    unsigned char palette[256][3];
    png_image image = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB_COLORMAP, .colormap_entries = 256 };
    image.width = (png_uint_32)columns;
    image.height = (png_uint_32)rows;
    io_palette(colours, palette);
    if (png_image_write_to_file(&image, path, 0, pixel, (png_int_32)row_stride, palette)) {
        return true;
    }
    io_say(s, "%s cannot be written: %s", path, image.message);
    png_image_free(&image);
    return false;
}
