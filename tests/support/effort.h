/* How much of a test that repeats itself is done: sanitizers take several times as long, and find what they look for in
 * fewer programs. What depends on numbers is for the other builds. */
#ifndef EFFORT_H
#define EFFORT_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

/* So many times. */
#define EFFORT(usual, sanitized) (IS_SANITIZED ? (sanitized) : (usual))

#endif
