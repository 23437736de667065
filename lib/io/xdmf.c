/* XDMF: a small XML file that tells ParaView which datasets are the steps of a series. Node 0's host task.
 *
 * Each step is one line, which begins with a mark that has its time, so that the file can be read back by a line at a
 * time: what is there of earlier times is kept. A file of another program, which has no such marks, is refused. */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first[] = "<?xml version=\"1.0\" ?><!-- tacit series -->\n";
static const char head[] =
    "<Xdmf Version=\"3.0\"><Domain><Grid Name=\"series\" GridType=\"Collection\" CollectionType=\"Temporal\">\n";
static const char tail[] = "</Grid></Domain></Xdmf>\n";
static const char mark[] = "<!-- time ";

static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '&') {
            fputs("&amp;", out);
        } else if (*text == '<') {
            fputs("&lt;", out);
        } else if (*text == '"') {
            fputs("&quot;", out);
        } else {
            fputc(*text, out);
        }
    }
}

/* ParaView looks for the dataset's file from the folder of the XDMF file on. */
static const char *seen_from(const char *path, const char *series)
{
    const char *slash = strrchr(series, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - series) : 0;
    return strncmp(path, series, folder) == 0 ? path + folder : path;
}

static void put_sizes(FILE *out, const io_array *a, int dims, size_t more)
{
    for (int d = 0; d < dims; d++) {
        fprintf(out, "%s%zu", d ? " " : "", a->size[d] + more);
    }
}

/* Elements are points of a regular grid of 2 or 3 dimensions; a line is a grid of one row. */
static void put_step(FILE *out, const io_plan *plan, int buffer_dims)
{
    const io_array *a = &plan->array;
    const char *kind = io_type_kind(a->type) == 'f' ? "Float" : io_type_kind(a->type) == 'u' ? "UInt" : "Int";
    const bool flat = buffer_dims < 2;
    const char *three = buffer_dims == 3 ? "3D" : "2D";
    const size_t per = a->dims > buffer_dims ? a->size[buffer_dims] : 1;
    fprintf(out,
            "%s%.17g --><Grid GridType=\"Uniform\"><Time Value=\"%.17g\"/><Topology TopologyType=\"%sCoRectMesh\" "
            "Dimensions=\"",
            mark, plan->time, plan->time, three);
    fputs(flat ? "1 " : "", out);
    put_sizes(out, a, buffer_dims, 0);
    fputs(buffer_dims == 0 ? "1" : "", out);
    const int n = buffer_dims == 3 ? 3 : 2;
    fprintf(out,
            "\"/><Geometry GeometryType=\"%s\"><DataItem Format=\"XML\" Dimensions=\"%d\">%s</DataItem>"
            "<DataItem Format=\"XML\" Dimensions=\"%d\">%s</DataItem></Geometry>",
            n == 3 ? "ORIGIN_DXDYDZ" : "ORIGIN_DXDY", n, n == 3 ? "0 0 0" : "0 0", n, n == 3 ? "1 1 1" : "1 1");
    fputs("<Attribute Name=\"", out);
    put_escaped(out, plan->dataset);
    fprintf(out,
            "\" Center=\"Node\" AttributeType=\"%s\"><DataItem Format=\"HDF\" NumberType=\"%s\" Precision=\"%zu\" "
            "Dimensions=\"",
            per == 1   ? "Scalar"
            : per == 3 ? "Vector"
                       : "Matrix",
            kind, a->type_size);
    fputs(flat ? "1 " : "", out);
    put_sizes(out, a, a->dims, 0);
    fputs(buffer_dims == 0 ? "1" : "", out);
    fputs("\">", out);
    put_escaped(out, seen_from(plan->path, plan->xdmf));
    fputs(":/", out);
    put_escaped(out, plan->dataset);
    fputs("</DataItem></Attribute></Grid>\n", out);
}

/* Copies the steps before `time`. Returns false if the file is none of ours. */
static bool keep_earlier(FILE *old, double time, FILE *out)
{
    char *line = NULL;
    size_t room = 0;
    bool good = getline(&line, &room, old) > 0 && strcmp(line, first) == 0;
    while (good && getline(&line, &room, old) > 0) {
        if (strncmp(line, mark, sizeof(mark) - 1) == 0 && strtod(line + sizeof(mark) - 1, NULL) < time) {
            fputs(line, out);
        }
    }
    free(line);
    return good;
}

bool io_xdmf_add(const io_plan *plan, io_state *s)
{
    char part[IO_PATH + 8];
    const int buffer_dims = plan->array.dims - (plan->elem_size > plan->array.type_size && plan->array.type ? 1 : 0);
    snprintf(part, sizeof(part), "%s.part", plan->xdmf);
    FILE *old = fopen(plan->xdmf, "r");
    if (!old && errno != ENOENT) {
        return io_say(s, "the series %s cannot be opened: %s", plan->xdmf, strerror(errno));
    }
    FILE *out = fopen(part, "w");
    bool good = out != NULL, ours = true;
    if (good) {
        fputs(first, out);
        fputs(head, out);
        ours = !old || keep_earlier(old, plan->time, out);
        put_step(out, plan, buffer_dims);
        fputs(tail, out);
        good = !ferror(out) && fflush(out) == 0 && (!plan->sync || fsync(fileno(out)) == 0);
        good = fclose(out) == 0 && good && ours && rename(part, plan->xdmf) == 0;
    }
    const int error = errno;
    if (old) {
        fclose(old);
    }
    if (good) {
        return true;
    }
    unlink(part);
    return ours ? io_say(s, "the series %s cannot be written: %s", plan->xdmf, strerror(error))
                : io_say(s, "the series %s is a file of another program, and is left alone; name another", plan->xdmf);
}
