/* Faults of kernels: see fault.h.
 *
 * The handler may take no lock. Almost always the thread that faults is the one that called the kernel, and finds its
 * call in `mine`. A thread that the kernel has started looks through those that are under way; whoever takes its call
 * out of there waits while somebody looks, so that no call goes away under the handler's eyes. */
#include "device/bounds/fault.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_CALLS = 1024, SIGNALS = 2 };

static const int signals[SIGNALS] = { SIGSEGV, SIGBUS };

/* Signal handlers are the process's, and so is what they need. */
static struct {
    _Atomic(ti_fault_call *) call[MAX_CALLS];
    _Atomic int lookers; /* handlers that look through them */
} under_way;
/* The call of this thread. In the model that needs no memory at the first use, which may be in the handler. */
static _Thread_local ti_fault_call *mine __attribute__((tls_model("initial-exec")));
static struct {
    pthread_mutex_t lock;
    int users;        /* how many contexts want it */
    bool left_behind; /* nobody wants it, but somebody has put a handler over ours that may call it */
    struct sigaction before[SIGNALS];
} handler = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- in the handler: only what POSIX allows there */

static ti_touch touch_of(const void *context)
{
#if defined(__x86_64__)
    enum { WRITES = 2 }; /* of the processor's error code */
    const ucontext_t *u = context;
    return u->uc_mcontext.gregs[REG_ERR] & WRITES ? TI_TOUCH_WRITE : TI_TOUCH_READ;
#elif defined(__aarch64__)
    /* The kernel appends records; one has the syndrome register, of which bit 6 says "write". */
    enum { SYNDROME = 0x45535201, WRITES = 1 << 6 };
    const ucontext_t *u = context;
    const unsigned char *record = (const unsigned char *)u->uc_mcontext.__reserved, *end = record + 4096;
    struct {
        uint32_t magic, size;
        uint64_t value;
    } r;
    for (; record + sizeof(r) <= end; record += r.size) {
        memcpy(&r, record, sizeof(r));
        if (r.magic == SYNDROME) {
            return r.value & WRITES ? TI_TOUCH_WRITE : TI_TOUCH_READ;
        }
        if (r.size == 0) {
            break;
        }
    }
    return TI_TOUCH_UNKNOWN;
#else
    (void)context;
    return TI_TOUCH_UNKNOWN;
#endif
}

typedef struct line {
    char text[512];
    size_t length;
} line;

static void add_text(line *l, const char *text)
{
    while (*text && l->length < sizeof(l->text)) {
        l->text[l->length++] = *text++;
    }
}

static void add_number(line *l, int64_t n)
{
    char digits[24], *first = digits + sizeof(digits) - 1;
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    *first = '\0';
    do {
        *--first = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (n < 0) {
        *--first = '-';
    }
    add_text(l, first);
}

static void say(const line *l)
{
    ssize_t ignored = write(STDERR_FILENO, l->text, l->length);
    (void)ignored;
}

/* What there is to say before the process dies. `copy`: that the address belongs to, or NULL. */
static void say_end(const ti_fault_call *call, const ti_guarded *copy, const char *address, ti_touch touch)
{
    line l = { .length = 0 };
    int64_t found[3], at[3];
    add_text(&l, "tacit error: task '");
    add_text(&l, call->launch->name);
    add_text(&l, "' on node ");
    add_number(&l, call->launch->node);
    if (copy && ti_guarded_locate(copy, address, found)) {
        int first = 3 - ti_guarded_buffer_dims(copy);
        ti_guarded_unfold(copy, found, at);
        add_text(&l, ", in a thread that its kernel has started, ");
        add_text(&l, ti_touch_verb(touch));
        add_text(&l, " ");
        add_text(&l, copy->name);
        for (int d = first; d < 3; d++) {
            add_text(&l, d == first ? "[" : ",");
            add_number(&l, at[d]);
        }
        add_text(&l, first < 3 ? "], outside of its accesses\n" : ", outside of its accesses\n");
    } else {
        add_text(&l, " crashes, at an address outside of its views\n");
    }
    say(&l);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *previous = &handler.before[number == SIGBUS];
    if (previous->sa_handler == SIG_DFL || previous->sa_handler == SIG_IGN) {
        struct sigaction plain = { .sa_handler = SIG_DFL };
        sigaction(number, &plain, NULL); /* the instruction is repeated, and the process dies of it */
        if (info->si_code <= 0) {
            raise(number); /* somebody has sent the signal: nothing is repeated */
        }
    } else if (previous->sa_flags & SA_SIGINFO) {
        previous->sa_sigaction(number, info, context);
    } else {
        previous->sa_handler(number);
    }
}

/* The copy of this call that the address belongs to; NULL if there is none. */
static const ti_guarded *find_copy(const ti_fault_call *call, const char *address)
{
    for (size_t c = 0; c < call->copies; c++) {
        int64_t at[3];
        if (ti_guarded_locate(&call->copy[c], address, at)) {
            return &call->copy[c];
        }
    }
    return NULL;
}

/* Whether the address belongs to the call of another thread; then says so. */
static bool say_of_others(const char *address, ti_touch touch)
{
    bool found = false;
    atomic_fetch_add(&under_way.lookers, 1);
    for (int i = 0; i < MAX_CALLS && !found; i++) {
        const ti_fault_call *call = atomic_load(&under_way.call[i]);
        const ti_guarded *copy = call ? find_copy(call, address) : NULL;
        if (copy) {
            say_end(call, copy, address, touch);
            found = true;
        }
    }
    atomic_fetch_sub(&under_way.lookers, 1);
    return found;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    ti_fault_call *call = mine;
    const char *address = info->si_addr;
    if (info->si_code > 0) { /* else somebody has sent the signal */
        const ti_guarded *copy = call ? find_copy(call, address) : NULL;
        if (copy) {
            call->hit = (size_t)(copy - call->copy);
            call->address = address;
            call->touch = touch_of(context);
            siglongjmp(call->back, 1);
        }
        if (!say_of_others(address, touch_of(context)) && call) {
            say_end(call, NULL, address, TI_TOUCH_UNKNOWN);
        }
    }
    pass_on(number, info, context);
}

/* ---- elsewhere */

const char *ti_touch_verb(ti_touch touch)
{
    switch (touch) {
    case TI_TOUCH_READ:
        return "reads";
    case TI_TOUCH_WRITE:
        return "writes";
    case TI_TOUCH_UNKNOWN:
        break;
    }
    return "touches";
}

void ti_fault_install(void)
{
    pthread_mutex_lock(&handler.lock);
    if (handler.users++ == 0 && !handler.left_behind) {
        struct sigaction ours = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
        sigemptyset(&ours.sa_mask);
        for (int i = 0; i < SIGNALS; i++) {
            sigaction(signals[i], &ours, &handler.before[i]);
        }
    }
    pthread_mutex_unlock(&handler.lock);
}

void ti_fault_remove(void)
{
    pthread_mutex_lock(&handler.lock);
    if (--handler.users == 0) {
        handler.left_behind = false;
        for (int i = 0; i < SIGNALS; i++) {
            struct sigaction now;
            sigaction(signals[i], NULL, &now);
            handler.left_behind |= now.sa_sigaction != on_fault;
        }
        for (int i = 0; i < SIGNALS && !handler.left_behind; i++) {
            sigaction(signals[i], &handler.before[i], NULL);
        }
    }
    pthread_mutex_unlock(&handler.lock);
}

static int claim(ti_fault_call *call)
{
    for (int i = 0;; i = (i + 1) % MAX_CALLS) {
        ti_fault_call *nobody = NULL;
        if (atomic_compare_exchange_strong(&under_way.call[i], &nobody, call)) {
            return i;
        }
        if (i == MAX_CALLS - 1) {
            sched_yield(); /* more threads than that run kernels: wait for one */
        }
    }
}

/* Returns twice. Apart, so that the caller has no variables that the jump could spoil. */
static bool run_and_return(ti_fault_call *call, tacit_host_kernel *kernel)
{
    if (sigsetjmp(call->back, 1) != 0) {
        return false;
    }
    kernel(call->launch);
    return true;
}

static void release(int slot)
{
    atomic_store(&under_way.call[slot], NULL);
    while (atomic_load(&under_way.lookers) > 0) {
        sched_yield();
    }
}

bool ti_fault_run(ti_fault_call *call, tacit_host_kernel *kernel, const tacit_launch *launch)
{
    sigset_t faults, mask;
    call->launch = launch;
    /* Workers block signals; a fault whose signal is blocked kills the process unheard. */
    sigemptyset(&faults);
    for (int i = 0; i < SIGNALS; i++) {
        sigaddset(&faults, signals[i]);
    }
    pthread_sigmask(SIG_UNBLOCK, &faults, &mask);
    int slot = claim(call);
    mine = call;
    bool good = run_and_return(call, kernel);
    mine = NULL;
    release(slot);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return good;
}
