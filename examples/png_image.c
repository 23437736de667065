/* examples/png_image.c: pictures, written by libpng's simplified interface; see png_image.h. */
#include "png_image.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct picture picture_create(size_t width, size_t height)
{
    struct picture p = { width, height, calloc(width * height, 3) };
    if (!p.rgb) {
        fprintf(stderr, "not enough memory for a picture of %zu x %zu\n", width, height);
        exit(EXIT_FAILURE);
    }
    return p;
}

void picture_destroy(struct picture *p)
{
    free(p->rgb);
    p->rgb = NULL;
}

static uint8_t level(double value)
{
    return (uint8_t)(255.0 * fmin(fmax(value, 0.0), 1.0) + 0.5);
}

static void set(struct picture *p, size_t x, size_t y, double red, double green, double blue)
{
    uint8_t *pixel = p->rgb + 3 * (y * p->width + x);
    pixel[0] = level(red);
    pixel[1] = level(green);
    pixel[2] = level(blue);
}

/* Away from white the three colours fade at different speeds, ending in a deep blue and a deep red. */
void picture_set_signed(struct picture *p, size_t x, size_t y, double value)
{
    double v = fmin(fabs(value), 1.0);
    double warm = 1.0 - 0.35 * v * v, cold = 1.0 - v, middle = 1.0 - 0.9 * v;
    if (value > 0)
        set(p, x, y, warm, middle, cold);
    else
        set(p, x, y, cold, middle, warm);
}

void picture_set_glow(struct picture *p, size_t x, size_t y, double value)
{
    set(p, x, y, 1.6 * value, 1.3 * value * value + 0.2 * value, 0.5 * value + 0.6 * value * value * value);
}

bool picture_write(const struct picture *p, const char *path)
{
    png_image image = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB };
    image.width = (png_uint_32)p->width;
    image.height = (png_uint_32)p->height;
    if (png_image_write_to_file(&image, path, 0, p->rgb, 0, NULL))
        return true;
    fprintf(stderr, "cannot write %s: %s\n", path, image.message);
    return false;
}
