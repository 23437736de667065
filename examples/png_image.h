/* examples/png_image.h: pictures. An image is width x height pixels of red, green and blue bytes, top row first.
 * Called by one thread at a time per image. */
#ifndef TACIT_EXAMPLES_PNG_IMAGE_H
#define TACIT_EXAMPLES_PNG_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture {
    size_t width, height;
    uint8_t *rgb;
};

/* A black image. Ends the program with a message if there is no memory. */
struct picture picture_create(size_t width, size_t height);
void picture_destroy(struct picture *image);

/* Set a pixel to a colour between blue (-1), white (0) and red (1). */
void picture_set_signed(struct picture *image, size_t x, size_t y, double value);

/* Set a pixel to a colour of glowing gas: 0 is black, 1 and more is white. */
void picture_set_glow(struct picture *image, size_t x, size_t y, double value);

/* Write a PNG file. Returns false after a message on standard error. */
bool picture_write(const struct picture *image, const char *path);

#endif
