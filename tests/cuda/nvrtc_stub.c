/* NVRTC for tests: makes machine code of this processor out of CUDA C, with the C++ compiler of the build.
 *
 * What it gives for a binary is a shared library, with its length before it. For each kernel there are a function that
 * calls it with an array of pointers to parameters, as the driver has them, and one that gives their sizes. */
#define _GNU_SOURCE
#include "device/cuda/driver.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct _nvrtcProgram {
    char *text, *log, *binary;
    size_t bytes;
};

/* What has been compiled: the compiler takes longer than most tests. Never freed. */
typedef struct known {
    struct known *next;
    char *text, *dims, *binary;
    size_t bytes;
} known;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static known *all_known;

/* What CUDA C has and C++ does not. */
static const char before[] =
    "#include <utility>\nusing std::size_t;\n"
    "struct stub_dim3 { unsigned x, y, z; };\n"
    "extern \"C\" { stub_dim3 threadIdx, blockIdx, blockDim, gridDim; void (*stub_barrier)();\n"
    "    __attribute__((aligned(16))) char tacit_shared_[1 << 16];\n"
    "    double sqrt(double); double fabs(double); double floor(double); double exp(double); }\n"
    "template <class T> T min(T a, T b) { return b < a ? b : a; }\n"
    "template <class T> T max(T a, T b) { return b > a ? b : a; }\n"
    "#define __global__\n#define __device__\n#define __shared__\n#define __align__(n) __attribute__((aligned(n)))\n"
    "#define __syncthreads() stub_barrier()\n"
    "template <class T> T atomicAdd(T *p, T n) { T old = *p; *p += n; return old; }\n"
    "template <class... A, unsigned long... I>\n"
    "void stub_unpack(void (*f)(A...), void **p, std::index_sequence<I...>) { f(*(A *)p[I]...); }\n"
    "template <class... A> void stub_call(void (*f)(A...), void **p)\n"
    "{ stub_unpack(f, p, std::index_sequence_for<A...>()); }\n"
    "template <class... A> unsigned long stub_size(void (*)(A...), unsigned long i)\n"
    "{ const unsigned long s[] = { sizeof(A)..., 0 }; return i < sizeof...(A) ? s[i] : 0; }\n";

static bool is_of_name(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The functions for each kernel of the text that `mark` stands before. */
static void add_calls(FILE *out, const char *text, const char *mark)
{
    static const char definition[] = "#define ";
    for (const char *at = strstr(text, mark); at; at = strstr(at + 1, mark)) {
        const char *name = at + strlen(mark);
        int length = 0;
        while (is_of_name(name[length])) {
            length++;
        }
        bool defines = at - text >= (long)strlen(definition) &&
                       strncmp(at - strlen(definition), definition, strlen(definition)) == 0;
        if (!defines && name[length] == '(') {
            fprintf(out,
                    "\nextern \"C\" void stub_call_%.*s(void **p) { stub_call(%.*s, p); }\n"
                    "extern \"C\" unsigned long stub_size_%.*s(unsigned long i) { return stub_size(%.*s, i); }\n",
                    length, name, length, name, length, name, length, name);
        }
    }
}

static char *contents(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *all = NULL;
    *bytes = 0;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        *bytes = (size_t)ftell(file);
        rewind(file);
        all = calloc(1, *bytes + 1);
        *bytes = all ? fread(all, 1, *bytes, file) : 0;
    }
    if (file) {
        fclose(file);
    }
    return all;
}

static bool run_compiler(const char *folder, const char *dims)
{
    char in[512], out[512], log[512];
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_t actions;
    snprintf(in, sizeof(in), "%s/kernel.cpp", folder);
    snprintf(out, sizeof(out), "%s/kernel.so", folder);
    snprintf(log, sizeof(log), "%s/log", folder);
    const char *const argv[] = { STUB_COMPILER,    "-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-ffp-contract=off",
                                 "-Wl,-Bsymbolic", dims,         in,    "-o",    out,       NULL };
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool good = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) == 0 &&
                waitpid(child, &status, 0) == child && status == 0;
    posix_spawn_file_actions_destroy(&actions);
    return good;
}

static void take_result(ti_nvrtc_program p, const char *folder, bool good)
{
    static const char *const names[] = { "kernel.cpp", "kernel.so", "log" };
    char path[512];
    size_t length, bytes = 0;
    snprintf(path, sizeof(path), "%s/log", folder);
    p->log = contents(path, &length);
    snprintf(path, sizeof(path), "%s/kernel.so", folder);
    char *library = good ? contents(path, &bytes) : NULL;
    if (library) {
        p->bytes = sizeof(bytes) + bytes;
        p->binary = malloc(p->bytes);
        memcpy(p->binary, &bytes, sizeof(bytes));
        memcpy(p->binary + sizeof(bytes), library, bytes);
    }
    free(library);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

#define DECLARE(member, symbol, parameters) int symbol parameters;
TI_NVRTC_FUNCTIONS(DECLARE)

/* The second number changes with what kernels are compiled to here, so that kept ones of before are not taken. */
int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 0;
    for (const char *c = before; *c; c++) {
        *minor = (*minor * 31 + *c) % 1000003;
    }
    return 0;
}

int nvrtcCreateProgram(ti_nvrtc_program *out, const char *text, const char *name, int headers, const char *const *a,
                       const char *const *b)
{
    (void)name;
    (void)headers;
    (void)a;
    (void)b;
    *out = calloc(1, sizeof(**out));
    (*out)->text = strdup(text);
    return 0;
}

int nvrtcDestroyProgram(ti_nvrtc_program *p)
{
    free((*p)->text);
    free((*p)->log);
    free((*p)->binary);
    free(*p);
    *p = NULL;
    return 0;
}

/* Where the source of a task begins, behind what every program has; NULL: it is no task's. */
static const char *source_of_task(const char *text)
{
    return strstr(text, "#line 1 \"task ");
}

static bool has_barriers(const char *text)
{
    const char *source = source_of_task(text);
    return source ? strstr(source, "TACIT_BARRIER") || strstr(source, "TACIT_GROUP_SUM")
                  : strstr(text, "__syncthreads") != NULL;
}

static bool compile(ti_nvrtc_program p, const char *dims)
{
    char folder[] = "/tmp/cuda_stub_XXXXXX", path[512];
    if (!mkdtemp(folder)) {
        return false;
    }
    snprintf(path, sizeof(path), "%s/kernel.cpp", folder);
    FILE *file = fopen(path, "w");
    bool good = file && fprintf(file, "%s%s", before, p->text) > 0;
    if (file) {
        add_calls(file, p->text, "TACIT_KERNEL ");
        add_calls(file, p->text, "__global__ void ");
        fputs(has_barriers(p->text) ? "extern \"C\" int stub_waits = 1;\n" : "", file);
        fclose(file);
    }
    good = good && run_compiler(folder, dims);
    take_result(p, folder, good);
    return good;
}

static bool is_known(ti_nvrtc_program p, const char *dims)
{
    for (const known *k = all_known; k; k = k->next) {
        if (strcmp(k->text, p->text) == 0 && strcmp(k->dims, dims) == 0) {
            p->binary = malloc(k->bytes);
            p->bytes = k->bytes;
            memcpy(p->binary, k->binary, k->bytes);
            return true;
        }
    }
    return false;
}

static void remember(ti_nvrtc_program p, const char *dims)
{
    known *k = malloc(sizeof(*k));
    *k = (known){ .next = all_known, .text = strdup(p->text), .dims = strdup(dims), .bytes = p->bytes };
    k->binary = malloc(p->bytes);
    memcpy(k->binary, p->binary, p->bytes);
    all_known = k;
}

/* Tasks have the options that make kernels give the bits of other devices, and those for the device. */
int nvrtcCompileProgram(ti_nvrtc_program p, int count, const char *const *options)
{
    const char *dims = NULL;
    int needed = 0;
    for (int i = 0; i < count; i++) {
        needed += strcmp(options[i], "--fmad=false") == 0 || strcmp(options[i], "--gpu-architecture=sm_90") == 0 ||
                  strcmp(options[i], "--device-as-default-execution-space") == 0;
        dims = strncmp(options[i], "-DTACIT_DIMS=", 13) == 0 ? options[i] : dims;
    }
    if (source_of_task(p->text) ? needed != 3 || !dims : dims != NULL) {
        p->log = strdup("error: an option is missing\n");
        return 5;
    }
    dims = dims ? dims : "-DTACIT_DIMS=0";
    pthread_mutex_lock(&mutex);
    bool good = is_known(p, dims);
    if (!good) {
        good = compile(p, dims) && p->binary;
        if (good) {
            remember(p, dims);
        }
    }
    pthread_mutex_unlock(&mutex);
    return good ? 0 : 6;
}

int nvrtcGetProgramLogSize(ti_nvrtc_program p, size_t *out)
{
    *out = p->log ? strlen(p->log) + 1 : 1;
    return 0;
}

int nvrtcGetProgramLog(ti_nvrtc_program p, char *out)
{
    strcpy(out, p->log ? p->log : "");
    return 0;
}

int nvrtcGetCUBINSize(ti_nvrtc_program p, size_t *out)
{
    *out = p->bytes;
    return 0;
}

int nvrtcGetCUBIN(ti_nvrtc_program p, char *out)
{
    memcpy(out, p->binary, p->bytes);
    return 0;
}
