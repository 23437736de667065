/* Ranks that are connected by slow links, on one machine: each in a network namespace of its own, whose only way out is
 * a TUN device; a relay in this process reads packets from each, holds them for as long as a link would, and writes
 * them to another. Kernels without netem can do it, too. Needs root.
 *
 * Nothing stays: namespaces belong to processes that end with this one. */
#ifndef BENCH_LINKS_H
#define BENCH_LINKS_H

enum { LINKS_MOST_NODES = 8 };

typedef struct links {
    int nodes;
    double delay; /* seconds, one way */
    double rate;  /* bytes per second of each link, each way; 0: as fast as it goes */
    double limit; /* seconds, after which everything ends */
} links;

/* Start `program` by mpirun, a rank in each namespace, and relay until it has ended. Returns its exit status; a
 * sentence on stderr, and 1, where that is impossible. */
int links_run(const links *l, char *const *program);

/* What mpirun starts instead of ssh: `program --agent HOST COMMAND...`, in the namespace of the host. Does not
 * return. */
int links_agent(int argc, char **argv);

#endif
