/* tacit/io.h: buffers to files and back. A library of its own: link tacit-io (tacit::io in CMake, or
 * `pkg-config --cflags --libs tacit-io`).
 *
 *     tacit_file_options o = { .type = TACIT_DOUBLE };
 *     tacit_buffer_write(ctx, u, "u.h5", &o);          all of u, as an HDF5 dataset
 *     ... more tasks, which do not wait for the file ...
 *     tacit_buffer_read(ctx, v, "u.h5", &o);           into a buffer of the same shape, on any number of nodes
 *
 * Writing and reading are tasks: they follow what was submitted before by what they access, run beside
 * kernels that have nothing to do with it, and return at once. Each node writes or reads its own part of
 * the file, all at the same time; nothing is gathered. The file system must be one that all nodes see.
 * File operations of a context follow each other in the order of their submission.
 *
 *     format             suffix         written by            elements               read back
 *     HDF5               .h5 .hdf5      all nodes             any, attributes        yes
 *     NumPy              .npy           all nodes             any                    yes
 *     raw                .raw .bin      all nodes             any; no header         yes
 *     PNG                .png           node 0, colours by    numbers, 2D            no
 *                                       all nodes
 *
 * A file is written beside its place, as PATH.1f3a9c02.part or such, and renamed when all nodes have written:
 * until then, and if anything fails, the old file is there. What is read is checked first: a file of another shape,
 * type or byte order, or one that is too short, is refused with a sentence, and so is a disk that is full.
 * The run ends then with TACIT_ERROR_KERNEL, unless the operation is .tolerant; tacit_files_wait tells.
 *
 * doc/io.md explains formats and layouts, and shows a program that writes and restarts. */
#ifndef TACIT_IO_H
#define TACIT_IO_H

#include <tacit/tacit.h>

TACIT_C_BEGIN_

/* Which format a file has. */
enum {
    TACIT_FILE_BY_NAME = 0, /* what the suffix of the path says. The default. */
    TACIT_FILE_HDF5,
    TACIT_FILE_NPY,
    TACIT_FILE_RAW, /* the elements, row-major, in the byte order of the machine, and nothing else */
    TACIT_FILE_PNG
};

/* The colours of a picture, from low to high. */
enum {
    TACIT_COLOURS_HEAT = 0, /* black, red, yellow, white. The default. */
    TACIT_COLOURS_GREY,     /* black to white */
    TACIT_COLOURS_SIGNED    /* blue, white, red: for values around 0 */
};

/* Most dimensions of an array in a file: those of a buffer, and one for elements of several numbers. */
#define TACIT_FILE_MAX_DIMS 4

/* A number or a text beside a dataset, in HDF5 files. At most 8 for each dataset; names have at most 63
 * bytes and texts 127. */
typedef struct tacit_file_attribute {
    const char *name;  /* copied */
    tacit_type type;   /* of the number; 0: a text */
    const void *value; /* the number, or a string that ends with 0; copied. The same on all nodes. */
} tacit_file_attribute;

/* How to write or read. Zero means default. All nodes give the same. */
typedef struct tacit_file_options {
    /* The format. */
    int format; /* TACIT_FILE_...; default: by the path's suffix */
    /* What the elements are made of. An element may be several numbers: 24 bytes of TACIT_DOUBLE are 3
     * doubles, which are a last dimension of 3 in the file. 0: bytes that mean nothing to others, which
     * are opaque elements in HDF5 and NumPy. PNG needs it. */
    tacit_type type; /* default: 0 */
    /* The part of the buffer that the file has, or is going to have: the file knows the size of the box,
     * not where it lies. */
    tacit_box box; /* default (all zero), and TACIT_BOX_ALL: all of the buffer */
    /* HDF5: the dataset, with groups if need be ("run/3/u"). */
    const char *dataset; /* copied, at most 127 bytes; default: "data" */
    /* HDF5, writing: what stands beside it. */
    const tacit_file_attribute *attributes; /* num_attributes of them, copied */
    size_t num_attributes;                  /* at most 8 */
    /* HDF5, writing: the path of an XDMF file, which ParaView opens: it gets an entry for this dataset at
     * this time, behind those that it has of earlier times; entries of the same or later times go, so that
     * a run that starts again at a checkpoint leaves a series in order. */
    const char *xdmf; /* copied; NULL: none */
    double time;
    /* PNG: the values of the first and of the last colour. */
    double low, high; /* both 0: the least and the greatest value that there is */
    int colours;      /* TACIT_COLOURS_... */
    /* Wait until the file is on the disk before it gets its name: also a machine that loses power leaves
     * the old file or the new one. It costs what the disk takes. */
    bool sync; /* default: false */
    /* A failure is kept for tacit_files_wait, and the run goes on. What should have been read is zeros
     * then, all of it or in part. */
    bool tolerant; /* default: false, a failure ends the run */
    /* How the box is split over nodes: give the hints of the tasks that wrote the buffer (.split, .weights,
     * .granularity), and each node writes what it has. */
    tacit_hints hint; /* default: blocks of rows */
    /* HDF5, writing: what else the file has stays: other datasets, groups, their attributes; a dataset of this
     * name is replaced. Node 0 copies the old file first, so that it is there until the new one is complete. */
    bool keep; /* default: false, the file has this dataset and nothing else */
} tacit_file_options;

/* Write a buffer, or a box of it, to a file.
 *
 *   path     copied, at most 1000 bytes. A file that is there is replaced, when the new one is complete;
 *            with .keep, only its dataset of this name.
 *   options  NULL: the defaults
 *
 *   errors  TACIT_ERROR_ARGUMENT       something is NULL, or has no such value; elements that are no whole
 *                                      number of .type
 *           TACIT_ERROR_DIMENSION      PNG of a buffer without 2 dimensions
 *           TACIT_ERROR_RANGE          the box is empty or leaves the buffer; a name that is too long
 *           TACIT_ERROR_UNINITIALIZED  somewhere in the box nobody has written
 *           TACIT_ERROR_UNSUPPORTED    the format was not built (`tacit info` says which are)
 *           TACIT_ERROR_STATE          the context or the buffer is none, or destroyed
 *           the error of the run
 *   thread  the context's
 *   nodes   all, in the same order
 *
 * Programs call tacit_buffer_write. (The exported function also takes the size of the struct, so that the
 * struct can grow.) */
TACIT_API tacit_status tacit_buffer_write_sized(tacit_context *ctx, tacit_buffer *buffer, const char *path,
                                                const tacit_file_options *options, size_t size);
static inline tacit_status tacit_buffer_write(tacit_context *ctx, tacit_buffer *buffer, const char *path,
                                              const tacit_file_options *options)
{
    return tacit_buffer_write_sized(ctx, buffer, path, options, sizeof(tacit_file_options));
}

/* Read a file into a buffer, or a box of it. The file must have exactly the shape of the box.
 *
 *   path, options, errors, thread, nodes   as above; no PNG */
TACIT_API tacit_status tacit_buffer_read_sized(tacit_context *ctx, tacit_buffer *buffer, const char *path,
                                               const tacit_file_options *options, size_t size);
static inline tacit_status tacit_buffer_read(tacit_context *ctx, tacit_buffer *buffer, const char *path,
                                             const tacit_file_options *options)
{
    return tacit_buffer_read_sized(ctx, buffer, path, options, sizeof(tacit_file_options));
}

/* What a file is. */
typedef struct tacit_file_facts {
    bool found;                       /* there is such a file and dataset, and it can be read */
    int format;                       /* TACIT_FILE_... */
    int dims;                         /* of the array in the file */
    size_t size[TACIT_FILE_MAX_DIMS]; /* likewise; of a raw file: its bytes, in one dimension */
    tacit_type type;                  /* of its numbers; 0: something else */
    size_t type_size;                 /* of a number, in bytes */
    char why[256];                    /* not found: the reason */
} tacit_file_facts;

/* Look at a file, before there is a buffer for it. Waits for the file operations submitted before; all nodes
 * get the same answer, so programs may decide by it:
 *
 *     tacit_file_facts saved;
 *     tacit_file_look(ctx, "heat.h5", NULL, &saved);
 *     if (saved.found)
 *         ... tacit_buffer_read ...
 *
 *   options  .format and .dataset count; NULL: the defaults
 *   out      gets the answer
 *
 *   errors  as for tacit_buffer_read. That there is no such file is no error.
 *   thread  the context's
 *   nodes   all, in the same order */
TACIT_API tacit_status tacit_file_look(tacit_context *ctx, const char *path, const tacit_file_options *options,
                                       tacit_file_facts *out);

/* An attribute of a dataset in an HDF5 file, or of a group if .dataset names one: "/" is that of the file. Waits,
 * and gives all nodes the same, like tacit_file_look.
 *
 *   name    of the attribute
 *   type    of the number; 0: a text
 *   value   gets the number, converted to `type`, or a string of at most 127 bytes and its 0
 *   found   gets whether it is there; NULL: that it is not is TACIT_ERROR_ARGUMENT
 *
 *   errors  as for tacit_file_look
 *   thread  the context's
 *   nodes   all, in the same order */
TACIT_API tacit_status tacit_file_get_attribute(tacit_context *ctx, const char *path, const tacit_file_options *options,
                                                const char *name, tacit_type type, void *value, bool *found);

/* Wait until all file operations submitted so far are done.
 *
 *   errors  TACIT_ERROR_KERNEL  a tolerant one has failed since the last call; tacit_last_error has the
 *                               sentence of the first. All nodes get it.
 *           TACIT_ERROR_ARGUMENT, TACIT_ERROR_STATE as for other calls
 *           the error of the run
 *   thread  the context's
 *   nodes   all, in the same order */
TACIT_API tacit_status tacit_files_wait(tacit_context *ctx);

TACIT_C_END_
#endif
