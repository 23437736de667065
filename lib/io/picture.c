/* From values to colours: which numbers lie where in a palette of 256. Any thread. */
#include "file.h"

static unsigned char level(double x)
{
    return (unsigned char)(255.0 * (x < 0 ? 0 : x > 1 ? 1 : x) + 0.5);
}

void io_palette(int colours, unsigned char (*rgb)[3])
{
    for (int i = 0; i < 256; i++) {
        const double x = i / 255.0, s = 2 * x - 1;
        double red = x, green = x, blue = x;
        if (colours == TACIT_COLOURS_HEAT) {
            red = 3 * x;
            green = 3 * x - 1;
            blue = 3 * x - 2;
        } else if (colours == TACIT_COLOURS_SIGNED) {
            red = s < 0 ? 1 + s : 1;
            green = s < 0 ? 1 + s : 1 - s;
            blue = s < 0 ? 1 : 1 - s;
        }
        rgb[i][0] = level(red);
        rgb[i][1] = level(green);
        rgb[i][2] = level(blue);
    }
}
