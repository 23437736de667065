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

enum { METADATA = 1 << 14 };

/* HDF5 does not survive a disk that is full while it closes a file: the room is asked for before. */
static bool has_room(const io_plan *plan, const char *path, io_state *s)
{
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

/* The dataset of before makes room for the new one; anything else of that name stays. */
static bool take_out(const io_plan *plan, hid_t file, io_state *s)
{
    if (H5Lexists(file, plan->dataset, H5P_DEFAULT) <= 0) { /* also: a group of its path is not there */
        return true;
    }
    hid_t dataset = H5Dopen2(file, plan->dataset, H5P_DEFAULT);
    if (dataset < 0) {
        return io_say(s, "'%s' in it is no dataset, and stays; name the dataset otherwise", plan->dataset);
    }
    H5Dclose(dataset);
    return H5Ldelete(file, plan->dataset, H5P_DEFAULT) >= 0 ||
           io_say(s, "the dataset '%s' cannot be replaced: %s", plan->dataset, reason());
}

/* A copy of the file that is there, at `path`, which ends where the new dataset would if there is room for it. */
static bool copy_old(const io_plan *plan, const char *path, io_state *s)
{
    struct stat old;
    const int error = io_copy_file(plan->path, path);
    const int file = error ? -1 : open(path, O_WRONLY | O_CLOEXEC);
    const bool good = file >= 0 && fstat(file, &old) == 0 &&
                      io_reserve(file, (uint64_t)old.st_size, io_bytes(plan) + METADATA);
    const int why = error ? error : errno;
    if (file >= 0) {
        close(file);
    }
    return good || io_say(s, "what the file has cannot be copied to %s: %s", path, strerror(why));
}

static hid_t open_copy(const io_plan *plan, const char *path, io_state *s)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file < 0) {
        io_say(s, "it is no HDF5 file, or is cut off: %s; .keep adds to HDF5 files only", reason());
    } else if (!take_out(plan, file, s)) {
        H5Fclose(file);
        file = -1;
    }
    return file;
}

static hid_t create(const char *path, io_state *s)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0) {
        io_say(s, "%s cannot be created: %s", path, reason());
    }
    return file;
}

static bool make(const io_plan *plan, const char *path, io_state *s)
{
    const bool adds = plan->keep && access(plan->path, F_OK) == 0;
    if (!(adds ? copy_old(plan, path, s) : has_room(plan, path, s))) {
        return false;
    }
    session one = enter();
    hid_t file = adds ? open_copy(plan, path, s) : create(path, s);
    bool good = file >= 0 && fill_file(plan, file, s);
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

/* Calls `use` with the dataset open, or with an object of any kind. */
static bool with_object(const io_plan *plan, io_state *s, bool any,
                        bool (*use)(const io_plan *, hid_t, io_state *, void *), void *more)
{
    session one = enter();
    if (access(plan->path, R_OK) != 0) {
        leave(one);
        return io_say(s, "it cannot be opened: %s", strerror(errno));
    }
    bool good = false;
    hid_t file = H5Fopen(plan->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t object = file < 0 ? -1
                   : any    ? H5Oopen(file, plan->dataset, H5P_DEFAULT)
                            : H5Dopen2(file, plan->dataset, H5P_DEFAULT);
    if (file < 0) {
        io_say(s, "it is no HDF5 file, or is cut off: %s", reason());
    } else if (object < 0) {
        io_say(s, "it has no dataset '%s': %s", plan->dataset, reason());
    } else {
        good = use(plan, object, s, more);
        H5Oclose(object);
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
    return with_object(plan, s, false, use_facts, NULL);
}

/* A text of a fixed length, or one that HDF5 has allocated; its characters are not converted. */
static bool read_text(hid_t attribute, hid_t is, char out[IO_TEXT])
{
    char *variable = NULL;
    const bool varies = H5Tis_variable_str(is) > 0;
    hid_t type = text_type();
    H5Tset_size(type, varies ? H5T_VARIABLE : IO_TEXT);
    H5Tset_cset(type, H5Tget_cset(is));
    const bool good = H5Aread(attribute, type, varies ? (void *)&variable : out) >= 0;
    if (varies && good) {
        snprintf(out, IO_TEXT, "%s", variable ? variable : "");
    }
    H5free_memory(variable);
    H5Tclose(type);
    out[IO_TEXT - 1] = 0;
    return good;
}

static bool read_number(hid_t attribute, io_attribute *a)
{
    hid_t type = memory_type(a->type, 0);
    const bool good = H5Aread(attribute, type, &a->value) >= 0;
    H5Tclose(type);
    return good;
}

/* One value; of an array there is no place for the others. */
static bool is_one(hid_t attribute)
{
    hid_t space = H5Aget_space(attribute);
    const bool one = H5Sget_simple_extent_npoints(space) == 1;
    H5Sclose(space);
    return one;
}

static bool use_attribute(const io_plan *plan, hid_t object, io_state *s, void *more)
{
    io_attribute *a = &s->attribute;
    (void)plan;
    (void)more;
    if (H5Aexists(object, a->name) <= 0) {
        a->name[0] = 0;
        return true;
    }
    hid_t attribute = H5Aopen(object, a->name, H5P_DEFAULT), is = H5Aget_type(attribute);
    const bool text = H5Tget_class(is) == H5T_STRING;
    const bool good = text == !a->type && is_one(attribute) &&
                      (text ? read_text(attribute, is, a->value.text) : read_number(attribute, a));
    H5Tclose(is);
    H5Aclose(attribute);
    return good || io_say(s, "its attribute '%s' is no %s", a->name, a->type ? "number" : "text");
}

static bool get_attribute(const io_plan *plan, io_state *s)
{
    return with_object(plan, s, true, use_attribute, NULL);
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
    return with_object(plan, s, false, use_box, &b);
}

const io_format io_hdf5 = { .name = "HDF5",
                            .suffix = { ".h5", ".hdf5" },
                            .make = make,
                            .look = look,
                            .get_attribute = get_attribute,
                            .read_box = read_box };
