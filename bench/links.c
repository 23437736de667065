/* Slow links on one machine: see links.h. Linux, and Open MPI's launcher. */
#include "links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MTU = 9000, HELD = 4096, HOST_NUMBER = 3 /* of the address's bytes */, PATIENCE_MS = 100 };
static const char holders_variable[] = "LINKS_HOLDERS", nodes_variable[] = "LINKS_NODES";
static const char cores_variable[] = "LINKS_CORES", subnet[] = "10.77.0.";

typedef struct packet {
    double due;
    size_t bytes;
    unsigned char *data;
} packet;

/* One way from one node to another: a ring of what is under way. */
typedef struct line {
    packet held[HELD];
    unsigned first, end;
    double is_free; /* when the last byte so far has left */
} line;

typedef struct relay {
    const links *is;
    int tun[LINKS_MOST_NODES];
    pid_t holder[LINKS_MOST_NODES];
    line *line; /* [from * nodes + to] */
    long lost;
} relay;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool fail(const char *what)
{
    fprintf(stderr, "latency: %s: %s\n", what, strerror(errno));
    return false;
}

/* ---- a namespace: a process that holds it, and gives its device away */

static bool set_up(int control, const char *device, const char *address)
{
    struct ifreq r = { 0 };
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&r.ifr_addr;
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", device);
    if (address) {
        in->sin_family = AF_INET;
        inet_pton(AF_INET, address, &in->sin_addr);
        if (ioctl(control, SIOCSIFADDR, &r) != 0)
            return fail("SIOCSIFADDR");
        inet_pton(AF_INET, "255.255.255.0", &in->sin_addr);
        if (ioctl(control, SIOCSIFNETMASK, &r) != 0)
            return fail("SIOCSIFNETMASK");
        r.ifr_mtu = MTU;
        if (ioctl(control, SIOCSIFMTU, &r) != 0)
            return fail("SIOCSIFMTU");
    }
    r.ifr_flags = IFF_UP | IFF_RUNNING;
    return ioctl(control, SIOCSIFFLAGS, &r) == 0 || fail("SIOCSIFFLAGS");
}

static int open_device(int number)
{
    char address[32], host[32];
    struct ifreq r = { .ifr_flags = IFF_TUN | IFF_NO_PI };
    snprintf(address, sizeof address, "%s%d", subnet, number + 1);
    snprintf(host, sizeof host, "link%d", number);
    snprintf(r.ifr_name, sizeof r.ifr_name, "tun0");
    if (unshare(CLONE_NEWNET | CLONE_NEWUTS) != 0 || sethostname(host, strlen(host)) != 0) {
        fail("a network namespace cannot be made");
        return -1;
    }
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK), control = socket(AF_INET, SOCK_DGRAM, 0);
    if (tun < 0 || control < 0 || ioctl(tun, TUNSETIFF, &r) != 0) {
        fail("a TUN device cannot be made (/dev/net/tun)");
        return -1;
    }
    bool up = set_up(control, "lo", NULL) && set_up(control, "tun0", address);
    close(control);
    return up ? tun : -1;
}

/* A message of one byte, with the device: -1 if there is none. */
static void give(int socket, int device)
{
    char byte = 0, space[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec one = { &byte, 1 };
    struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(c), &device, sizeof device);
    if (device >= 0 && sendmsg(socket, &m, 0) < 0)
        fail("sendmsg");
}

static int take(int socket)
{
    char byte, space[CMSG_SPACE(sizeof(int))];
    struct iovec one = { &byte, 1 };
    struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
    int device = -1;
    if (recvmsg(socket, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&device, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof device);
    return device;
}

static bool make_node(relay *r, int number)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return fail("socketpair");
    r->holder[number] = fork();
    if (r->holder[number] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pair[0]);
        give(pair[1], open_device(number));
        close(pair[1]);
        for (;;)
            pause();
    }
    close(pair[1]);
    r->tun[number] = take(pair[0]);
    close(pair[0]);
    return r->tun[number] >= 0;
}

/* ---- the relay */

static void accept_packet(relay *r, int from, const unsigned char *data, size_t bytes)
{
    enum { DESTINATION = 16, VERSION_SHIFT = 4, IPV4 = 4, LEAST = 20 };
    int to = bytes >= LEAST && data[0] >> VERSION_SHIFT == IPV4 ? data[DESTINATION + HOST_NUMBER] - 1 : -1;
    if (to < 0 || to >= r->is->nodes || to == from)
        return; /* multicasts and such */
    line *l = &r->line[from * r->is->nodes + to];
    if (l->end - l->first == HELD) {
        r->lost++;
        return;
    }
    double at = now();
    l->is_free = (l->is_free > at ? l->is_free : at) + (r->is->rate > 0 ? (double)bytes / r->is->rate : 0);
    packet *p = &l->held[l->end++ % HELD];
    *p = (packet){ l->is_free + r->is->delay, bytes, malloc(bytes) };
    memcpy(p->data, data, bytes);
}

static void read_all(relay *r)
{
    enum { AT_ONCE = 64 };
    unsigned char data[MTU + 64];
    for (int i = 0; i < r->is->nodes; i++) {
        ssize_t bytes = 1;
        for (int k = 0; k < AT_ONCE && bytes > 0; k++) {
            bytes = read(r->tun[i], data, sizeof data);
            if (bytes > 0)
                accept_packet(r, i, data, (size_t)bytes);
        }
    }
}

/* Deliver what is due. Returns when the next packet is. */
static double deliver(relay *r)
{
    double at = now(), next = at + 1e-3 * PATIENCE_MS;
    for (int i = 0; i < r->is->nodes * r->is->nodes; i++) {
        line *l = &r->line[i];
        while (l->first != l->end && l->held[l->first % HELD].due <= at) {
            packet *p = &l->held[l->first++ % HELD];
            r->lost += write(r->tun[i % r->is->nodes], p->data, p->bytes) < 0;
            free(p->data);
        }
        double due = l->first != l->end ? l->held[l->first % HELD].due : next;
        next = due < next ? due : next;
    }
    return next;
}

/* Until the program has ended: its exit status. */
static int relay_until_end(relay *r, pid_t program)
{
    struct pollfd fds[LINKS_MOST_NODES];
    double end = now() + r->is->limit;
    int status = 0;
    for (int i = 0; i < r->is->nodes; i++)
        fds[i] = (struct pollfd){ .fd = r->tun[i], .events = POLLIN };
    while (waitpid(program, &status, WNOHANG) == 0) {
        double wait = deliver(r) - now();
        const struct timespec t = { 0, wait > 0 ? (long)(1e9 * wait) : 0 };
        ppoll(fds, (nfds_t)r->is->nodes, &t, NULL);
        read_all(r);
        if (now() > end) {
            fprintf(stderr, "latency: the time is over\n");
            kill(-program, SIGKILL);
            waitpid(program, &status, 0);
            return EXIT_FAILURE;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

/* Links have no need of cores: whoever computes gives way to them. */
static void go_first(void)
{
    const struct sched_param least = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least) != 0)
        fprintf(stderr, "latency: links may be slower than they should: no real-time priority: %s\n", strerror(errno));
}

/* ---- starting ranks */

/* The cores of this process, before any is bound to a share of them: mpirun, which is, starts the others. */
static void tell_cores(void)
{
    char list[8 * CPU_SETSIZE] = "";
    size_t length = 0;
    cpu_set_t all;
    CPU_ZERO(&all);
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all))
            length += (size_t)snprintf(list + length, sizeof list - length, "%d,", cpu);
    }
    setenv(cores_variable, list, 1);
}

/* Each node believes to be alone on its machine: this process gets its share of the cores. */
static void take_cores(int number, int nodes)
{
    const char *list = getenv(cores_variable);
    int core[CPU_SETSIZE], cores = 0;
    cpu_set_t own;
    CPU_ZERO(&own);
    for (const char *at = list; at && *at && cores < CPU_SETSIZE; at = strchr(at, ',') + 1)
        core[cores++] = atoi(at);
    const int share = cores / nodes > 1 ? cores / nodes : 1;
    for (int i = 0; i < share && cores > 0; i++)
        CPU_SET(core[(number * share + i) % cores], &own);
    if (cores == 0 || sched_setaffinity(0, sizeof own, &own) != 0)
        fprintf(stderr, "latency: node %d takes cores from others: %s\n", number, strerror(errno));
}

static bool enter(pid_t holder)
{
    static const char *const kinds[] = { "net", "uts" };
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)holder, kinds[i]);
        int fd = open(path, O_RDONLY);
        if (fd < 0 || setns(fd, 0) != 0)
            return fail(path);
        close(fd);
    }
    return true;
}

/* As mpirun calls ssh: options, the host, the command in pieces. */
int links_agent(int argc, char **argv)
{
    char *holders = getenv(holders_variable), *nodes = getenv(nodes_variable), command[65536] = "";
    int at = 2, number;
    while (at < argc && argv[at][0] == '-')
        at++;
    if (!holders || !nodes || at >= argc || strncmp(argv[at], subnet, sizeof subnet - 1) != 0)
        return EXIT_FAILURE;
    number = atoi(argv[at] + sizeof subnet - 1);
    for (int i = 1; i < number && holders; i++)
        holders = strchr(holders, ',') ? strchr(holders, ',') + 1 : NULL;
    size_t length = 0;
    for (at++; at < argc && length < sizeof command; at++)
        length += (size_t)snprintf(command + length, sizeof command - length, "%s ", argv[at]);
    if (!holders || length >= sizeof command || !enter((pid_t)atol(holders)))
        return EXIT_FAILURE;
    take_cores(number - 1, atoi(nodes));
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    return EXIT_FAILURE;
}

static void start_program(const relay *r, char *const *program)
{
    char self[4096], agent[4200], hosts[256] = "", holders[256] = "", count[16];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    snprintf(agent, sizeof agent, "%s --agent", self);
    snprintf(count, sizeof count, "%d", r->is->nodes);
    for (int i = 0; i < r->is->nodes; i++) {
        const char *comma = i ? "," : "";
        snprintf(hosts + strlen(hosts), sizeof hosts - strlen(hosts), "%s%s%d", comma, subnet, i + 1);
        snprintf(holders + strlen(holders), sizeof holders - strlen(holders), "%s%d", comma, (int)r->holder[i]);
    }
    setenv(holders_variable, holders, 1);
    setenv(nodes_variable, count, 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    const char *head[] = { "mpirun",
                           "-n",
                           count,
                           "-H",
                           hosts,
                           "--mca",
                           "plm_rsh_agent",
                           agent,
                           "--mca",
                           "pml",
                           "ob1",
                           "--mca",
                           "btl",
                           "tcp,self",
                           "--mca",
                           "btl_tcp_if_include",
                           "tun0",
                           "--mca",
                           "oob_tcp_if_include",
                           "tun0",
                           "--bind-to",
                           "none",
                           "--mca",
                           "orte_keep_fqdn_hostnames",
                           "1" };
    const size_t heads = sizeof head / sizeof head[0];
    size_t rest = 0;
    while (program[rest])
        rest++;
    char **all = calloc(heads + rest + 1, sizeof *all);
    memcpy(all, head, sizeof head);
    memcpy(all + heads, program, rest * sizeof *all);
    setpgid(0, 0);
    tell_cores();
    take_cores(0, r->is->nodes); /* mpirun starts that node's rank itself */
    if (enter(r->holder[0]))
        execvp(all[0], all);
    fail("mpirun cannot be started");
    _exit(EXIT_FAILURE);
}

int links_run(const links *l, char *const *program)
{
    relay r = { .is = l };
    int made = 0, status = EXIT_FAILURE;
    if (geteuid() != 0) {
        fprintf(stderr, "latency: slow links need root, for network namespaces; without it, use --delay\n");
        return EXIT_FAILURE;
    }
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    r.line = calloc((size_t)(l->nodes * l->nodes), sizeof *r.line);
    while (made < l->nodes && make_node(&r, made))
        made++;
    pid_t child = made == l->nodes ? fork() : -1;
    if (child == 0)
        start_program(&r, program);
    if (child > 0) {
        go_first();
        status = relay_until_end(&r, child);
    }
    if (child <= 0)
        fprintf(stderr, "latency: there are no slow links here; use --delay\n");
    if (r.lost)
        fprintf(stderr, "latency: %ld packets were lost\n", r.lost);
    for (int i = 0; i < l->nodes; i++) {
        if (r.holder[i] > 0) {
            kill(r.holder[i], SIGKILL);
            waitpid(r.holder[i], NULL, 0);
        }
    }
    free(r.line);
    return status;
}
