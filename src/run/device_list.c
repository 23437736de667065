/* TACIT_DEVICES: see device_list.h. */
#include "run/device_list.h"

#include "base/macro.h"
#include "device/cuda.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

enum { MAX_INDEX = 9999, MAX_WEIGHT = 1000 };

/* A number from `least` to `most` at *at, which moves behind it. */
static bool take_number(const char **at, int least, int most, int *out)
{
    int number = 0;
    const char *first = *at;
    for (; isdigit((unsigned char)**at) && number <= most; ++*at) {
        number = number * 10 + (**at - '0');
    }
    *out = number;
    return *at > first && number >= least && number <= most;
}

static bool take_word(const char **at, const char *word)
{
    size_t length = strlen(word);
    bool is = strncmp(*at, word, length) == 0;
    *at += is ? length : 0;
    return is;
}

static bool at_end(const char *at)
{
    return *at == '\0' || *at == ',';
}

/* COUNT or COUNT:discrete */
static bool take_hosts(const char **at, ti_device_list *out)
{
    bool good = take_number(at, 1, TI_MAX_DEVICES, &out->hosts);
    out->discrete = good && take_word(at, ":discrete");
    return good;
}

static bool take_opencl(const char **at, ti_device_list *out)
{
    int index, parts = 1;
    bool good = take_number(at, 0, MAX_INDEX, &index) &&
                (!take_word(at, "/") || take_number(at, 1, TI_MAX_DEVICES, &parts)) &&
                out->opencls + parts <= TI_MAX_DEVICES;
    for (int part = 0; part < parts && good; part++) {
        out->opencl[out->opencls++] = (ti_opencl_name){ index, part, parts };
    }
    return good;
}

static bool take_cuda(const char **at, ti_device_list *out)
{
    int index;
    bool good = take_number(at, 0, MAX_INDEX, &index) && out->cudas < TI_MAX_DEVICES;
    if (good) {
        out->cuda[out->cudas++] = index;
    }
    return good;
}

static bool take_devices(const char **at, ti_device_list *out)
{
    if (take_word(at, "opencl:")) {
        return take_opencl(at, out);
    }
    if (take_word(at, "cuda:")) {
        return take_cuda(at, out);
    }
    if (out->hosts > 0 || !take_word(at, "host")) {
        return false;
    }
    out->hosts = 1;
    return !take_word(at, ":") || take_hosts(at, out);
}

/* Devices, and what part of the work is theirs. */
static bool take_entry(const char **at, ti_device_list *out)
{
    const int before = out->opencls + out->cudas, hosts = out->hosts;
    int weight = 1;
    bool good = take_devices(at, out) && (!take_word(at, "*") || take_number(at, 1, MAX_WEIGHT, &weight));
    for (int d = before; good && d < TI_MIN(out->opencls + out->cudas, TI_MAX_DEVICES); d++) {
        out->weight[d] = weight;
    }
    out->host_weight = good && out->hosts > hosts ? weight : out->host_weight;
    return good;
}

static bool parse_all(const char *text, ti_device_list *out)
{
    const char *at = text;
    if (strcmp(text, "auto") == 0) {
        out->automatic = true;
        out->hosts = 1;
        return true;
    }
    bool good = true;
    for (bool more = true; more && good;) {
        good = take_entry(&at, out) && at_end(at);
        more = good && take_word(&at, ",");
    }
    out->idle_host = out->hosts == 0;
    out->hosts = TI_MAX(out->hosts, 1);
    return good && out->hosts + out->opencls + out->cudas <= TI_MAX_DEVICES;
}

static bool parse_hosts(const char *text, ti_device_list *out)
{
    const char *at = text;
    return take_hosts(&at, out) && *at == '\0';
}

bool ti_device_list_parse(const char *devices, const char *hosts, ti_device_list *out, ti_strbuf *why)
{
    const bool is_said = devices || hosts;
    *out = (ti_device_list){ .hosts = devices ? 0 : 1, .host_weight = 1, .automatic = !is_said, .unasked = !is_said };
    if (devices && !parse_all(devices, out)) {
        ti_strbuf_add(why,
                      "TACIT_DEVICES is '%s', but must be auto, or a list, such as cuda:0,cuda:1,host or "
                      "opencl:0*3,opencl:1/2,host:4:discrete, with at most %d devices, one entry for the host, and "
                      "weights of 1 to 1000",
                      devices, TI_MAX_DEVICES);
        return false;
    }
    if (out->opencls > 0 && out->cudas > 0) {
        ti_strbuf_add(why,
                      "TACIT_DEVICES is '%s', with OpenCL and CUDA devices, which cannot copy from each other; name "
                      "those of one kind",
                      devices);
        return false;
    }
    if (!devices && hosts && !parse_hosts(hosts, out)) {
        ti_strbuf_add(why, "TACIT_HOST_DEVICES is '%s', but must be 1 to %d, or such a number with :discrete", hosts,
                      TI_MAX_DEVICES);
        return false;
    }
    return true;
}

/* OpenCL's processors are the host's cores, and programs compute with doubles. */
static void find_opencl(ti_device_list *list)
{
    enum { MAX_LOOKED_AT = 64 };
    ti_opencl_fact f, first = { .memory = 0 };
    for (int i = 0; i < MAX_LOOKED_AT && list->opencls < TI_MAX_DEVICES - 1 && ti_opencl_fact_of(i, &f); i++) {
        if (f.is_gpu && f.has_doubles && (list->opencls == 0 || strcmp(f.platform, first.platform) == 0)) {
            first = list->opencls == 0 ? f : first;
            list->weight[list->opencls] = 1;
            list->opencl[list->opencls++] = (ti_opencl_name){ i, 0, 1 };
        }
    }
}

bool ti_device_list_may_find(void)
{
    /* NVIDIA's, also under WSL, AMD's, and those of GPUs that can do more than draw. */
    static const char *const files[] = { "/dev/nvidiactl", "/dev/dxg", "/dev/kfd", "/dev/dri/renderD128" };
    bool any = false;
    for (size_t i = 0; i < TI_COUNT(files) && !any; i++) {
        any = access(files[i], F_OK) == 0;
    }
    return any;
}

void ti_device_list_find(ti_device_list *list)
{
    ti_cuda_fact f;
    for (int i = 0; list->cudas < TI_MAX_DEVICES - 1 && ti_cuda_fact_of(i, &f); i++) {
        list->weight[list->cudas] = 1;
        list->cuda[list->cudas++] = i;
    }
    if (list->cudas == 0) {
        find_opencl(list);
    }
    list->idle_host = list->cudas + list->opencls > 0;
}

/* Of `count` things those of `local`: the first, and how many. */
static int share_of(int count, int local, int nodes, int *shared)
{
    if (count < nodes) {
        *shared = count > 0;
        return (int)((int64_t)local * count / nodes);
    }
    const int first = (int)((int64_t)count * local / nodes);
    *shared = (int)((int64_t)count * (local + 1) / nodes) - first;
    return first;
}

void ti_device_list_deal(ti_device_list *list, int local, int nodes)
{
    int first = share_of(list->cudas, local, nodes, &list->cudas);
    memmove(list->cuda, &list->cuda[first], (size_t)list->cudas * sizeof(*list->cuda));
    first = share_of(list->opencls, local, nodes, &list->opencls);
    memmove(list->opencl, &list->opencl[first], (size_t)list->opencls * sizeof(*list->opencl));
}
