/* Compiled kernels on disk: see kernel_cache.h. */
#include "device/kernel_cache.h"

#include "base/hash.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a file begins with; key and code follow. */
typedef struct header {
    char magic[16];
    uint64_t key, code; /* bytes */
    uint64_t sum;       /* of both */
} header;

static const char magic[16] = "tacit kernel 1\n";

/* ---- the directory */

static char *usual_folder(void)
{
    const char *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    ti_strbuf path = { 0 };
    if (caches && *caches == '/') { /* others are to be ignored, says the specification */
        ti_strbuf_add(&path, "%s/tacit", caches);
    } else if (home && *home) {
        ti_strbuf_add(&path, "%s/.cache/tacit", home);
    }
    char *folder = path.text ? ti_strdup(path.text) : NULL;
    ti_strbuf_fini(&path);
    return folder;
}

void ti_kernel_cache_init(ti_kernel_cache *cache, const char *setting)
{
    bool is_off = setting && strcmp(setting, "off") == 0;
    *cache = (ti_kernel_cache){ .folder = is_off ? NULL : setting ? ti_strdup(setting) : usual_folder() };
}

void ti_kernel_cache_fini(ti_kernel_cache *cache)
{
    if (cache->compiled + cache->found > 0) {
        ti_log(TI_LOG_INFO, "kernels of devices: %d programs compiled, %d taken from %s", cache->compiled, cache->found,
               cache->folder ? cache->folder : "nowhere (TACIT_KERNEL_CACHE is off)");
    }
    ti_strfree(cache->folder);
    *cache = (ti_kernel_cache){ .folder = NULL };
}

/* With those above it. Whether it is there shows when a file is made. */
static void make_folder(const char *folder)
{
    char *path = ti_strdup(folder);
    for (char *at = path + 1; *path && (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(path, 0777);
        *at = '/';
    }
    (void)mkdir(path, 0700);
    ti_strfree(path);
}

/* ---- files */

static uint64_t sum_of(const char *key, size_t key_bytes, const char *code, size_t code_bytes)
{
    return ti_hash_mix(ti_hash_bytes(key, key_bytes), ti_hash_bytes(code, code_bytes));
}

/* PATH of the entry. */
static void add_path(const ti_kernel_cache *cache, const ti_strbuf *key, ti_strbuf *out)
{
    ti_strbuf_add(out, "%s/%016llx.kernel", cache->folder, (unsigned long long)ti_hash_bytes(key->text, key->length));
}

/* Exactly `bytes`, into a buffer that is empty. */
static bool read_part(FILE *file, uint64_t bytes, ti_strbuf *out)
{
    ti_strbuf_reserve(out, bytes + 1);
    out->length = fread(out->text, 1, bytes, file);
    out->text[out->length] = '\0';
    return out->length == bytes;
}

static bool is_of_size(FILE *file, const header *h)
{
    struct stat s;
    return fstat(fileno(file), &s) == 0 && s.st_size > 0 && h->key <= (uint64_t)s.st_size &&
           h->code <= (uint64_t)s.st_size && sizeof(*h) + h->key + h->code == (uint64_t)s.st_size;
}

static bool read_entry(FILE *file, const ti_strbuf *key, ti_strbuf *code)
{
    header h;
    ti_strbuf its = { 0 };
    bool good = fread(&h, sizeof(h), 1, file) == 1 && memcmp(h.magic, magic, sizeof(magic)) == 0 &&
                h.key == key->length && is_of_size(file, &h) && read_part(file, h.key, &its) &&
                memcmp(its.text, key->text, key->length) == 0 && read_part(file, h.code, code) &&
                h.sum == sum_of(key->text, key->length, code->text, code->length);
    ti_strbuf_fini(&its);
    return good;
}

bool ti_kernel_cache_find(ti_kernel_cache *cache, const ti_strbuf *key, ti_strbuf *code)
{
    ti_strbuf path = { 0 };
    if (!cache->folder) {
        return false;
    }
    add_path(cache, key, &path);
    FILE *file = fopen(path.text, "rb");
    bool good = file && read_entry(file, key, code);
    if (file) {
        fclose(file);
    }
    if (!good) {
        ti_strbuf_fini(code);
    }
    ti_strbuf_fini(&path);
    return good;
}

static bool write_entry(int descriptor, const ti_strbuf *key, const ti_strbuf *code)
{
    header h = { .key = key->length,
                 .code = code->length,
                 .sum = sum_of(key->text, key->length, code->text, code->length) };
    FILE *file = fdopen(descriptor, "wb");
    if (!file) {
        close(descriptor);
        return false;
    }
    memcpy(h.magic, magic, sizeof(magic));
    bool good = fwrite(&h, sizeof(h), 1, file) == 1 && fwrite(key->text, 1, key->length, file) == key->length &&
                fwrite(code->text, 1, code->length, file) == code->length && fflush(file) == 0;
    int error = errno;
    good = fclose(file) == 0 && good;
    errno = good ? 0 : error ? error : errno;
    return good;
}

void ti_kernel_cache_keep(ti_kernel_cache *cache, const ti_strbuf *key, const ti_strbuf *code)
{
    ti_strbuf path = { 0 }, beside = { 0 };
    if (!cache->folder) {
        return;
    }
    make_folder(cache->folder);
    add_path(cache, key, &path);
    ti_strbuf_add(&beside, "%s.XXXXXX", path.text);
    int descriptor = mkstemp(beside.text);
    bool good = descriptor >= 0 && write_entry(descriptor, key, code) && rename(beside.text, path.text) == 0;
    if (!good && !cache->has_warned) {
        cache->has_warned = true;
        ti_log(TI_LOG_WARNING,
               "compiled kernels cannot be kept in '%s': %s; set TACIT_KERNEL_CACHE to a directory that can be "
               "written, or to off",
               cache->folder, strerror(errno));
    }
    if (!good && descriptor >= 0) {
        (void)unlink(beside.text);
    }
    ti_strbuf_fini(&path);
    ti_strbuf_fini(&beside);
}
