/* What the files of lib/io share: what an operation is, and what formats do.
 *
 * An operation is three tasks (io.c). "begin file", on node 0, makes the file or looks at it, and says where in it the
 * elements lie. "write file" or "read file" is split over the nodes, each of which moves its own part (parts.c). "end
 * file", on node 0, gives the file its name, or tells what failed. What the first tells the others is an io_state, in a
 * buffer that all operations of a context update, so that they follow each other. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "tacit/io.h"

#include <stdarg.h>
#include <stdio.h>

enum { IO_PATH = 1001, IO_DATASET = 128, IO_ATTRIBUTES = 8, IO_NAME = 64, IO_TEXT = 128, IO_SENTENCE = 384 };

typedef struct io_attribute {
    char name[IO_NAME];
    int type; /* tacit_type, or 0: a text */
    union {
        int64_t integer; /* all kinds of numbers: their bytes, from the first */
        double real;
        char text[IO_TEXT];
    } value;
} io_attribute;

/* The array in a file. */
typedef struct io_array {
    int dims;
    size_t size[TACIT_FILE_MAX_DIMS];
    int type;         /* tacit_type, or 0 */
    size_t type_size; /* of a number; of opaque elements: of one */
} io_array;

/* The arguments of the tasks of an operation: no pointers, so that nodes can compare them. */
typedef struct io_plan {
    int format;
    bool reads, sync, tolerant, abandoned, has_range, keep;
    tacit_box box;
    size_t elem_size;
    io_array array; /* that the file has, or must have */
    double time, low, high;
    int colours;
    int num_attributes;
    char path[IO_PATH], dataset[IO_DATASET], xdmf[IO_PATH];
    io_attribute attribute[IO_ATTRIBUTES]; /* reading one: the first */
} io_plan;

/* What node 0 tells. */
typedef struct io_state {
    int failed;      /* the operation under way */
    bool direct;     /* the elements lie in the file from `offset` on, row-major; else the format reads them */
    uint64_t offset; /* in bytes */
    uint32_t mark;   /* of the name that a file has until it is complete: no file had it before */
    uint64_t print;  /* of a file that is read: what other nodes must see, too */
    char why[IO_SENTENCE];
    char kept[IO_SENTENCE]; /* the first failure of a tolerant operation */
    tacit_file_facts facts; /* of tacit_file_look */
    io_attribute attribute; /* of tacit_file_get_attribute */
} io_state;

/* What a format does, on node 0 but for read_box. A NULL is something that it cannot. Each returns whether it could,
 * and if not, says why in s->why. */
typedef struct io_format {
    const char *name, *suffix[3];
    /* Make the file at `path`, with room for the array: s->offset. */
    bool (*make)(const io_plan *plan, const char *path, io_state *s);
    /* What the file has: s->facts, s->direct and s->offset. Also says no to a byte order that is not the machine's. */
    bool (*look)(const io_plan *plan, io_state *s);
    /* An attribute: s->attribute, whose name and type are given; its name is empty if there is none. */
    bool (*get_attribute)(const io_plan *plan, io_state *s);
    /* Read a box of the array that is not stored in one piece. Any node. */
    bool (*read_box)(const io_plan *plan, const size_t *start, const size_t *count, void *packed, io_state *s);
} io_format;

extern const io_format io_raw, io_npy, io_hdf5;
const io_format *io_format_of(int format); /* NULL: none of these, or not built */

/* A sentence of the operation under way. Returns false. */
bool io_say(io_state *s, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

/* ---- types (types.c) */

size_t io_type_size(int type);                              /* 0: there is none */
const char *io_type_name(int type);                         /* "double" */
int io_type_of(char kind, size_t size);                     /* kind 'i', 'u' or 'f', as NumPy has it; 0: none */
char io_type_kind(int type);                                /* the same */
double io_type_value(int type, const void *number);         /* as a double */
void io_array_text(const io_array *a, char *out, size_t n); /* "3 x 4 of double" */
bool io_fits(const io_plan *plan, const tacit_file_facts *facts, io_state *s);

/* ---- parts (parts.c): where in the file a node's part lies */

/* The first failure of a node: 0, or what it was trying and errno. */
enum { IO_OPEN = 1, IO_WRITE, IO_READ, IO_SHORT, IO_CLOSE, IO_FORMAT, IO_MEMORY, IO_OTHER };
typedef struct io_failure {
    int step, error;
} io_failure;

/* Write or read the elements of `part`, a box of the buffer in the view, at their place in the file. */
io_failure io_write_part(const io_plan *plan, const char *path, uint64_t offset, const tacit_view *v,
                         const tacit_box *part);
io_failure io_read_part(const io_plan *plan, uint64_t offset, const tacit_view *v, const tacit_box *part);
/* The same for what the format itself must read. */
io_failure io_read_box(const io_plan *plan, const io_format *format, const tacit_view *v, const tacit_box *part);
void io_clear_part(const io_plan *plan, const tacit_view *v, const tacit_box *part);

/* The file ends so many bytes behind `offset`, if the disk has room for them; else errno says why. */
bool io_reserve(int file, uint64_t offset, uint64_t bytes);
uint64_t io_bytes(const io_plan *plan);

/* ---- files that are not complete, and whether all nodes see the same file (place.c) */

enum { IO_PART_PATH = IO_PATH + 16 };
/* PATH.1f3a9c02.part: a name that no node has looked up before, so that none finds a file of its own there, or of
 * before. */
const char *io_part_path(const io_plan *plan, const io_state *s, char out[IO_PART_PATH]);
uint32_t io_new_mark(void);
/* What runs that were killed have left of this file is removed. Node 0. */
void io_sweep(const io_plan *plan);
/* The length of the file and some of its bytes, as one number; 0: it cannot be read. */
uint64_t io_print_of(const char *path);
/* A copy of the file at `from`, as `to`. Returns 0 or errno. */
int io_copy_file(const char *from, const char *to);

/* A signal that a limit on the size of files sends, held back while the library writes. */
typedef struct io_quiet {
    int was_blocked;
} io_quiet;
io_quiet io_quiet_begin(void);
void io_quiet_end(io_quiet q);

/* ---- pictures and ParaView (png.c, xdmf.c) */

extern const char io_png_library[]; /* empty: not built */
extern const char io_hdf5_library[];
void io_palette(int colours, unsigned char (*rgb)[3]); /* 256 of them */
bool io_png_write(const char *path, size_t rows, size_t columns, const unsigned char *pixel, size_t row_stride,
                  int colours, io_state *s);
bool io_xdmf_add(const io_plan *plan, io_state *s);

#endif
