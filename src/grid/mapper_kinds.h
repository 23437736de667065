/* The kinds of range mappers and of their components: one row each.
 *
 * A mapper of the program has a component for each dimension of the buffer. Its row says what is checked of it, how
 * often random programs draw it, and what it means; a component's row says which functions of grid/mapper.c evaluate
 * it along its dimension. Whoever must know kinds reads these rows: grid/mapper.c, api/check_task.c,
 * tests/support/gen_mapper.c; doc/model.md is compared with them (tests/cli/mappers_page_test.py). CONTRIBUTING.md
 * has the recipe for a new kind. Any thread. */
#ifndef TI_MAPPER_KINDS_H
#define TI_MAPPER_KINDS_H

/* What holds for a kind of mapper, and is checked. */
enum {
    TI_EQUAL_DIMS = 1 << 0,    /* task and buffer have the same number of dimensions */
    TI_HALO_IS_SIZE = 1 << 1,  /* halos are not negative */
    TI_ARG_IS_DIM = 1 << 2,    /* `arg` is a dimension of the buffer */
    TI_ARG_IS_HANDLE = 1 << 3, /* `arg` is a custom mapper, which says it all: components mean nothing */
    TI_WRITES_ALIKE = 1 << 4,  /* for writes only, of what every node computes alike */
    TI_PLACED_WRITES = 1 << 5, /* every item touches all: written by placed tasks only */
    TI_ALONG_AXES = 1 << 6     /* the union of one component mapper per axis, which alone keeps its halo */
};

/* X(KIND, name, arguments, rules, weight in random programs, what item i touches) */
#define TI_MAPPER_KINDS(X)                                                                                             \
    X(ONE_TO_ONE, one_to_one, "", TI_EQUAL_DIMS, 16, "element i")                                                      \
    X(ALL, all, "", TI_PLACED_WRITES, 9, "the whole buffer")                                                           \
    X(FIXED, fixed, "box", 0, 6, "the same box, whatever i")                                                           \
    X(NEIGHBORHOOD, neighborhood, "e0, e1, e2", TI_EQUAL_DIMS | TI_HALO_IS_SIZE, 9,                                    \
      "element i and its neighbours, as a box")                                                                        \
    X(STAR, star, "e0, e1, e2", TI_EQUAL_DIMS | TI_HALO_IS_SIZE | TI_ALONG_AXES, 8,                                    \
      "element i and its neighbours along the axes")                                                                   \
    X(PERIODIC, periodic, "e0, e1, e2", TI_EQUAL_DIMS | TI_HALO_IS_SIZE, 10,                                           \
      "element i and its neighbours, as a box on a torus: behind the last element comes the first")                    \
    X(SLICE, slice, "d", TI_EQUAL_DIMS | TI_ARG_IS_DIM, 6, "element i and everything along dimension d")               \
    X(TRANSPOSED, transposed, "p0, p1, p2", 0, 8, "the element with i's indices in another order")                     \
    X(COMPONENTS, components, "c0, c1, c2", 0, 18,                                                                     \
      "per dimension of the buffer: all, an interval, or a scaled dimension of i")                                     \
    X(REPLICATED, replicated, "", TI_WRITES_ALIKE, 5, "the whole buffer, which every node writes alike")               \
    X(CUSTOM, custom, "handle", TI_ARG_IS_HANDLE, 10, "what a C function says")

/* What holds for a kind of component. */
enum {
    TI_FOLLOWS = 1 << 0,    /* `dim` is a dimension of the task, `mul` and `div` its scale, `lo` and `hi` halos */
    TI_SHIFTS = 1 << 1,     /* halos may be negative, and then shift or shrink */
    TI_NEEDS_HALO = 1 << 2, /* without one it is a `dim` */
    TI_IN_ORDER = 1 << 3    /* images are intervals in the order of the items, by the formula of grid/mapper.h */
};

/* X(KIND, name, rules); grid/mapper.c has name_image, name_inverse, name_is_constant, name_is_partitioned,
 * name_covers. */
#define TI_COMPONENT_KINDS(X)                                                                                          \
    X(DIM, dim, TI_FOLLOWS | TI_SHIFTS | TI_IN_ORDER)                                                                  \
    X(FULL, full, 0)                                                                                                   \
    X(SPAN, span, 0)                                                                                                   \
    X(PERIODIC, periodic, TI_FOLLOWS | TI_NEEDS_HALO)

#endif
