/* TACIT_DEVICES: see device_list.h. */
#include "run/device_list.h"

#include "base/macro.h"
#include "device/cuda.h"

#include <ctype.h>
#include <stdio.h>
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

/* What follows takes a part of an entry each, and returns what is wrong with it, or NULL. */

static const char *const too_many = "it makes more than 32 devices, of which the host is one";
_Static_assert(TI_MAX_DEVICES == 32, "the sentences say so");

/* COUNT or COUNT:discrete */
static const char *take_hosts(const char **at, ti_device_list *out)
{
    if (!take_number(at, 1, TI_MAX_DEVICES, &out->hosts)) {
        return "host: is followed by how many host devices there are to be, 1 to 32";
    }
    out->discrete = take_word(at, ":discrete");
    return NULL;
}

static const char *take_opencl(const char **at, ti_device_list *out)
{
    int index, parts = 1;
    if (!take_number(at, 0, MAX_INDEX, &index)) {
        return "opencl: is followed by the number of a device, as `tacit info` lists them";
    }
    if (take_word(at, "/") && !take_number(at, 1, TI_MAX_DEVICES, &parts)) {
        return "behind / is how many devices this one becomes, 1 to 32";
    }
    for (int part = 0; part < parts; part++) {
        if (out->opencls == TI_MAX_DEVICES) {
            return too_many;
        }
        out->opencl[out->opencls++] = (ti_opencl_name){ index, part, parts };
    }
    return NULL;
}

static const char *take_cuda(const char **at, ti_device_list *out)
{
    int index;
    if (!take_number(at, 0, MAX_INDEX, &index)) {
        return "cuda: is followed by the number of a device, as `tacit info` lists them";
    }
    if (out->cudas == TI_MAX_DEVICES) {
        return too_many;
    }
    out->cuda[out->cudas++] = index;
    return NULL;
}

static const char *take_devices(const char **at, ti_device_list *out)
{
    if (take_word(at, "opencl:")) {
        return take_opencl(at, out);
    }
    if (take_word(at, "cuda:")) {
        return take_cuda(at, out);
    }
    if (!take_word(at, "host")) {
        return "an entry begins with host, opencl: or cuda:";
    }
    if (out->hosts > 0) {
        return "the host has one entry; host:2 is two host devices";
    }
    out->hosts = 1;
    return take_word(at, ":") ? take_hosts(at, out) : NULL;
}

/* Devices, and what part of the work is theirs. */
static const char *take_entry(const char **at, ti_device_list *out)
{
    const int before = out->opencls + out->cudas, hosts = out->hosts;
    int weight = 1;
    const char *wrong = take_devices(at, out);
    if (!wrong && take_word(at, "*") && !take_number(at, 1, MAX_WEIGHT, &weight)) {
        wrong = "a weight is 1 to 1000";
    }
    for (int d = before; !wrong && d < TI_MIN(out->opencls + out->cudas, TI_MAX_DEVICES); d++) {
        out->weight[d] = weight;
    }
    out->host_weight = !wrong && out->hosts > hosts ? weight : out->host_weight;
    return wrong || at_end(*at) ? wrong : "a comma or nothing may follow what is understood of it";
}

/* The entry that begins at `at` means nothing. */
static void add_wrong(const char *at, const char *wrong, ti_strbuf *out)
{
    ti_strbuf_add(out, "entry '%.*s': %s", (int)strcspn(at, ","), at, wrong);
}

/* False and what is wrong in `why`. */
static bool parse_all(const char *text, ti_device_list *out, ti_strbuf *why)
{
    const char *at = text;
    if (strcmp(text, "auto") == 0) {
        out->automatic = true;
        out->hosts = 1;
        return true;
    }
    for (bool more = true; more; more = take_word(&at, ",")) {
        const char *first = at, *wrong = take_entry(&at, out);
        if (!wrong && TI_MAX(out->hosts, 1) + out->opencls + out->cudas > TI_MAX_DEVICES) {
            wrong = too_many;
        }
        if (wrong) {
            add_wrong(first, wrong, why);
            return false;
        }
    }
    out->idle_host = out->hosts == 0;
    out->hosts = TI_MAX(out->hosts, 1);
    return true;
}

static bool parse_hosts(const char *text, ti_device_list *out)
{
    const char *at = text;
    return !take_hosts(&at, out) && *at == '\0';
}

bool ti_device_list_parse(const char *devices, const char *hosts, ti_device_list *out, ti_strbuf *why)
{
    const bool is_said = devices || hosts;
    *out = (ti_device_list){ .hosts = devices ? 0 : 1, .host_weight = 1, .automatic = !is_said, .unasked = !is_said };
    ti_strbuf wrong = { 0 };
    if (devices && !parse_all(devices, out, &wrong)) {
        ti_strbuf_add(why,
                      "TACIT_DEVICES is '%s', but must be auto, or a list, such as cuda:0,cuda:1,host or "
                      "opencl:0*3,opencl:1/2,host:4:discrete (%s)",
                      devices, ti_strbuf_text(&wrong));
        ti_strbuf_fini(&wrong);
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

void ti_device_list_name(ti_device_list *list)
{
    int d = 0;
    for (int h = 0; h < list->hosts; h++) {
        snprintf(list->name[d++], TI_DEVICE_NAME, list->hosts > 1 ? "host, part %d" : "host", h);
    }
    for (int i = 0; i < list->opencls; i++) {
        ti_opencl_name_format(&list->opencl[i], list->name[d++]);
    }
    for (int i = 0; i < list->cudas; i++) {
        ti_cuda_name_format(list->cuda[i], list->name[d++]);
    }
}

void ti_device_list_deal(ti_device_list *list, int local, int nodes)
{
    int first = share_of(list->cudas, local, nodes, &list->cudas);
    memmove(list->cuda, &list->cuda[first], (size_t)list->cudas * sizeof(*list->cuda));
    first = share_of(list->opencls, local, nodes, &list->opencls);
    memmove(list->opencl, &list->opencl[first], (size_t)list->opencls * sizeof(*list->opencl));
}
