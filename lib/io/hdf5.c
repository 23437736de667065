/* HDF5 by its library. Node 0's host task, but for reading parts of datasets that are not in one piece.
 *
 * A dataset that is written has the contiguous layout and its place in the file from the beginning: its elements lie
 * row-major from H5Dget_offset on. So only node 0 needs the library, for everything that is not elements, and all nodes
 * write their own parts at the same time as into any other file, whether HDF5 was built for MPI or not. Datasets that
 * are contiguous are read in the same way; chunked and compressed ones are read by the library on each node.
 *
 * The library may not be called by two threads at a time, hence the lock. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IO_STRING_(x) #x
#define IO_STRING(x) IO_STRING_(x)
const char io_hdf5_library[] = IO_STRING(H5_VERS_MAJOR) "." IO_STRING(H5_VERS_MINOR) "." IO_STRING(H5_VERS_RELEASE);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What belongs together: HDF5's own messages are kept from stderr meanwhile. */
typedef struct session {
    H5E_auto2_t print;
    void *data;
} session;

static session enter(void)
{
    session one;
    pthread_mutex_lock(&lock);
    H5Eget_auto2(H5E_DEFAULT, &one.print, &one.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return one;
}

static void leave(session one)
{
    H5Eset_auto2(H5E_DEFAULT, one.print, one.data);
    pthread_mutex_unlock(&lock);
}

static herr_t keep_first(unsigned n, const H5E_error2_t *error, void *out)
{
    const char **text = out;
    if (n == 0 && error->desc) {
        *text = error->desc;
    }
    return 0;
}

/* What HDF5 says of its last failure; valid until its next call. */
static const char *reason(void)
{
    const char *text = "HDF5 does not say why";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
    return text;
}

static hid_t memory_type(int type, size_t size)
{
    switch (type) {
    case TACIT_INT8:
        return H5Tcopy(H5T_NATIVE_INT8);
    case TACIT_INT16:
        return H5Tcopy(H5T_NATIVE_INT16);
    case TACIT_INT32:
        return H5Tcopy(H5T_NATIVE_INT32);
    case TACIT_INT64:
        return H5Tcopy(H5T_NATIVE_INT64);
    case TACIT_UINT8:
        return H5Tcopy(H5T_NATIVE_UINT8);
    case TACIT_UINT16:
        return H5Tcopy(H5T_NATIVE_UINT16);
    case TACIT_UINT32:
        return H5Tcopy(H5T_NATIVE_UINT32);
    case TACIT_UINT64:
        return H5Tcopy(H5T_NATIVE_UINT64);
    case TACIT_FLOAT:
        return H5Tcopy(H5T_NATIVE_FLOAT);
    case TACIT_DOUBLE:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    default:
        return H5Tcreate(H5T_OPAQUE, size);
    }
}

/* ---- writing */

static hid_t text_type(void)
{
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, IO_TEXT);
    return text;
}

static bool write_attribute(hid_t dataset, const io_attribute *a)
{
    hid_t type = a->type ? memory_type(a->type, 0) : text_type();
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(dataset, a->name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 && H5Awrite(attribute, type, &a->value) >= 0;
    if (attribute >= 0) {
        H5Aclose(attribute);
    }
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

static hid_t create_dataset(const io_plan *plan, hid_t file)
{
    const io_array *a = &plan->array;
    hsize_t size[TACIT_FILE_MAX_DIMS];
    for (int d = 0; d < a->dims; d++) {
        size[d] = a->size[d];
    }
    hid_t space = a->dims ? H5Screate_simple(a->dims, size, NULL) : H5Screate(H5S_SCALAR);
    hid_t type = memory_type(a->type, a->type_size);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_layout(creation, H5D_CONTIGUOUS);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    H5Pset_create_intermediate_group(link, 1);
    hid_t dataset = H5Dcreate2(file, plan->dataset, type, space, link, creation, H5P_DEFAULT);
    H5Pclose(link);
    H5Pclose(creation);
    H5Tclose(type);
    H5Sclose(space);
    return dataset;
}

static bool fill_file(const io_plan *plan, hid_t file, io_state *s)
{
    hid_t dataset = create_dataset(plan, file);
    if (dataset < 0) {
        return io_say(s, "the dataset '%s' cannot be created: %s", plan->dataset, reason());
    }
    bool good = true;
    for (int i = 0; good && i < plan->num_attributes; i++) {
        good = write_attribute(dataset, &plan->attribute[i]) ||
               io_say(s, "the attribute '%s' cannot be written: %s", plan->attribute[i].name, reason());
    }
    const haddr_t offset = H5Dget_offset(dataset);
    s->direct = true;
    s->offset = (uint64_t)offset;
    if (good && offset == HADDR_UNDEF) {
        good = io_say(s, "HDF5 has no place for the dataset: %s", reason());
    }
    if (H5Dclose(dataset) < 0 && good) {
        good = io_say(s, "the dataset '%s' cannot be written: %s", plan->dataset, reason());
    }
    return good;
}

/* HDF5 does not survive a disk that is full while it closes a file: the room is asked for before. */
static bool has_room(const io_plan *plan, const char *path, io_state *s)
{
    enum { METADATA = 1 << 14 };
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        return io_say(s, "%s cannot be created: %s", path, strerror(errno));
    }
    const bool good = io_reserve(file, 0, io_bytes(plan) + METADATA);
    const int error = errno;
    close(file);
    return good || io_say(s, "there is no room for %" PRIu64 " bytes: %s", io_bytes(plan), strerror(error));
}

/* The file ends there at the earliest. */
static int truncate_to(const char *path, uint64_t end)
{
    struct stat is;
    return stat(path, &is) != 0 || (uint64_t)is.st_size < end ? truncate(path, (off_t)end) : 0;
}

static bool make(const io_plan *plan, const char *path, io_state *s)
{
    if (!has_room(plan, path, s)) {
        return false;
    }
    session one = enter();
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    bool good = file >= 0 ? fill_file(plan, file, s) : io_say(s, "%s cannot be created: %s", path, reason());
    if (file >= 0 && H5Fclose(file) < 0 && good) {
        good = io_say(s, "%s cannot be written: %s", path, reason());
    }
    leave(one);
    if (good && truncate_to(path, s->offset + io_bytes(plan)) != 0) {
        good = io_say(s, "there is no room for %" PRIu64 " bytes: %s", io_bytes(plan), strerror(errno));
    }
    return good;
}

/* ---- looking and reading */

/* What numbers a dataset has. Returns false if they have another byte order. */
static bool read_type(hid_t dataset, io_state *s)
{
    hid_t type = H5Dget_type(dataset);
    const size_t size = H5Tget_size(type);
    const H5T_class_t class = H5Tget_class(type);
    const bool number = class == H5T_INTEGER || class == H5T_FLOAT;
    const char kind = class == H5T_FLOAT ? 'f' : H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i';
    s->facts.type = number ? io_type_of(kind, size) : 0;
    s->facts.type_size = size;
    bool same = true;
    if (s->facts.type) {
        hid_t own = memory_type(s->facts.type, size);
        same = H5Tget_order(type) == H5Tget_order(own) || size == 1;
        H5Tclose(own);
    }
    H5Tclose(type);
    if (number && !s->facts.type) {
        return io_say(s, "its numbers of %zu bytes are none that tacit knows", size);
    }
    return same ||
           io_say(s, "its numbers have another byte order than this machine's; convert it with h5py or h5repack");
}

static bool read_facts(hid_t dataset, io_state *s)
{
    hid_t space = H5Dget_space(dataset), creation = H5Dget_create_plist(dataset);
    hsize_t size[H5S_MAX_RANK];
    const int dims = H5Sget_simple_extent_dims(space, size, NULL);
    const haddr_t offset = H5Dget_offset(dataset);
    s->direct = H5Pget_layout(creation) == H5D_CONTIGUOUS && offset != HADDR_UNDEF &&
                H5Pget_external_count(creation) == 0;
    s->offset = (uint64_t)offset;
    H5Pclose(creation);
    H5Sclose(space);
    if (dims < 0 || dims > TACIT_FILE_MAX_DIMS) {
        return io_say(s, "it has more than %d dimensions", TACIT_FILE_MAX_DIMS);
    }
    s->facts.dims = dims;
    for (int d = 0; d < dims; d++) {
        s->facts.size[d] = (size_t)size[d];
    }
    return read_type(dataset, s);
}

/* Calls `use` with the dataset open. */
static bool with_dataset(const io_plan *plan, io_state *s, bool (*use)(const io_plan *, hid_t, io_state *, void *),
                         void *more)
{
    session one = enter();
    if (access(plan->path, R_OK) != 0) {
        leave(one);
        return io_say(s, "it cannot be opened: %s", strerror(errno));
    }
    bool good = false;
    hid_t file = H5Fopen(plan->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = file >= 0 ? H5Dopen2(file, plan->dataset, H5P_DEFAULT) : -1;
    if (file < 0) {
        io_say(s, "it is no HDF5 file, or is cut off: %s", reason());
    } else if (dataset < 0) {
        io_say(s, "it has no dataset '%s': %s", plan->dataset, reason());
    } else {
        good = use(plan, dataset, s, more);
        H5Dclose(dataset);
    }
    if (file >= 0) {
        H5Fclose(file);
    }
    leave(one);
    return good;
}

static bool use_facts(const io_plan *plan, hid_t dataset, io_state *s, void *more)
{
    (void)plan;
    (void)more;
    return read_facts(dataset, s);
}

static bool look(const io_plan *plan, io_state *s)
{
    return with_dataset(plan, s, use_facts, NULL);
}

static bool use_attribute(const io_plan *plan, hid_t dataset, io_state *s, void *more)
{
    io_attribute *a = &s->attribute;
    (void)plan;
    (void)more;
    if (H5Aexists(dataset, a->name) <= 0) {
        a->name[0] = 0;
        return true;
    }
    hid_t attribute = H5Aopen(dataset, a->name, H5P_DEFAULT), is = H5Aget_type(attribute);
    const bool text = H5Tget_class(is) == H5T_STRING;
    bool good = text == !a->type && (!text || H5Tis_variable_str(is) <= 0);
    if (good) {
        hid_t type = a->type ? memory_type(a->type, 0) : text_type();
        good = H5Aread(attribute, type, &a->value) >= 0;
        a->value.text[IO_TEXT - 1] = 0;
        H5Tclose(type);
    }
    H5Tclose(is);
    H5Aclose(attribute);
    return good || io_say(s, "its attribute '%s' is no %s", a->name, a->type ? "number" : "text of a fixed length");
}

static bool get_attribute(const io_plan *plan, io_state *s)
{
    return with_dataset(plan, s, use_attribute, NULL);
}

typedef struct box {
    const size_t *start, *count;
    void *packed;
} box;

static bool use_box(const io_plan *plan, hid_t dataset, io_state *s, void *more)
{
    const box *b = more;
    const io_array *a = &plan->array;
    hsize_t start[TACIT_FILE_MAX_DIMS], count[TACIT_FILE_MAX_DIMS];
    for (int d = 0; d < a->dims; d++) {
        start[d] = b->start[d];
        count[d] = b->count[d];
    }
    hid_t in_file = H5Dget_space(dataset);
    hid_t in_memory = a->dims ? H5Screate_simple(a->dims, count, NULL) : H5Screate(H5S_SCALAR);
    hid_t type = memory_type(a->type, a->type_size);
    bool good = a->dims == 0 || H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
    good = good && H5Dread(dataset, type, in_memory, in_file, H5P_DEFAULT, b->packed) >= 0;
    if (!good) {
        io_say(s, "it cannot be read: %s", reason());
    }
    H5Tclose(type);
    H5Sclose(in_memory);
    H5Sclose(in_file);
    return good;
}

static bool read_box(const io_plan *plan, const size_t *start, const size_t *count, void *packed, io_state *s)
{
    box b = { start, count, packed };
    return with_dataset(plan, s, use_box, &b);
}

const io_format io_hdf5 = { .name = "HDF5",
                            .suffix = { ".h5", ".hdf5" },
                            .make = make,
                            .look = look,
                            .get_attribute = get_attribute,
                            .read_box = read_box };
