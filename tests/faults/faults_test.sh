#!/usr/bin/env bash
# A node that dies ends the job everywhere within seconds, with a message; a node that waits for long says for what.
# Usage: faults_test.sh TACIT FAULTY
set -u
tacit=$1 faulty=$2 failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail()
{
    echo "FAILED: $*"
    sed 's/^/    /' "$dir/log"
    failed=1
}

# No way of dying may leave the other nodes waiting (30 s are much more than it takes).
for way in kill segv abort exit return; do
    timeout 60 "$tacit" run -n 3 "$faulty" $way >"$dir/log" 2>&1
    status=$?
    [ $status = 124 ] && fail "$way: the other nodes went on waiting"
    [ $status = 0 ] && fail "$way: the job says that all is well"
    [ -s "$dir/log" ] || fail "$way: no message"
    case $way in
        exit | return) grep -q 'ended without tacit_finalize' "$dir/log" || fail "$way: no word of tacit_finalize" ;;
    esac
done

# A kernel that is wrong on all nodes: one of them says so, and MPI adds no list of addresses.
for way in view fail; do
    timeout 60 "$tacit" run -n 3 "$faulty" $way >"$dir/log" 2>&1
    status=$?
    [ $status = 124 ] && fail "$way: no end"
    [ $status = 0 ] && fail "$way: the job says that all is well"
    [ "$(grep -c "tacit error (node [0-2]): task 'step' on node [0-2]" "$dir/log")" = 1 ] || fail "$way: not said once"
    grep -q 'received signal\|\[0x' "$dir/log" && fail "$way: MPI says more than it should"
    case $way in view) grep -q "access 0 to buffer 'U': index -1 of dimension 0 is outside" "$dir/log" || fail "$way: not named" ;; esac
done

# Nodes that submit different things: the job ends and names what differs, also where they wait for messages that do not come.
for way in name mapper early missing; do
    for nodes in 2 4; do
        timeout 60 "$tacit" run -n $nodes "$faulty" $way >"$dir/log" 2>&1
        status=$?
        [ $status = 124 ] && fail "$way on $nodes nodes: no end"
        [ $status = 0 ] && fail "$way on $nodes nodes: the job says that all is well"
        odd=$((nodes - 1)) even=$((nodes - 2))
        case $way in
            name) sentence="node $odd submitted task [0-9]* 'smoth' over \[0,64) where node $even submitted task [0-9]* 'smooth'" ;;
            mapper) sentence="they differ in the mapper of access 0 (buffer 'U')" ;;
            early) sentence="node $odd read buffer 'U' \\[0,64) by a fence where node $even submitted task [0-9]* 'smooth' over" ;;
            missing) sentence="node $odd submitted task [0-9]* 'back' over \[0,64) where node $even submitted task [0-9]* 'smooth'" ;;
        esac
        grep -q "$sentence" "$dir/log" || fail "$way on $nodes nodes: the difference is not named"
    done
done
TACIT_DIVERGENCE=off timeout 60 "$tacit" run -n 2 "$faulty" name >"$dir/log" 2>&1 || fail "off: names were compared nevertheless"

# Node 1 goes on when the other has said that it waits: the job then ends well.
: >"$dir/log"
TACIT_COLLECTIVES=off TACIT_WATCHDOG=1 timeout 90 "$tacit" run -n 2 "$faulty" late "$dir/go" 2> >(
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$dir/log"
        case $line in *"from node 1: buffer 'U' [32,64)"*"for task 'fence'"*) touch "$dir/go" ;; esac
    done
)
status=$?
[ -e "$dir/go" ] || fail "late: the watchdog did not name the message"
[ $status = 0 ] || fail "late: the job ended with $status"
# A kernel that does not end is named, also where it keeps all threads that may look: inline by default on one core, shared on all workers.
busy()
{
    : >"$dir/log"
    rm -f "$dir/go"
    TACIT_WATCHDOG=1 timeout 90 "$@" busy "$dir/go" 2> >(
        while IFS= read -r line; do
            printf '%s\n' "$line" >>"$dir/log"
            case $line in *"kernel 'stay' has run for "[1-9]*" s on node 0"*) touch "$dir/go" ;; esac
        done
    )
    status=$?
    [ -e "$dir/go" ] || fail "busy: $*: the watchdog did not name the kernel"
    [ $status = 0 ] || fail "busy: $*: ended with $status"
}
busy taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')" "$faulty"
TACIT_WORKERS=2 TACIT_PROGRESS=shared busy "$faulty"
TACIT_WORKERS=2 TACIT_PROGRESS=shared busy "$tacit" run -n 2 "$faulty"
TACIT_WORKERS=1 TACIT_PROGRESS=thread busy "$faulty"

# The launcher's process that started the ranks is killed (mpirun, or what MPICH has between mpiexec and them): no rank stays behind.
rm -f "$dir/go"
TACIT_COLLECTIVES=off TACIT_WATCHDOG=1 "$tacit" run -n 2 "$faulty" late "$dir/go" </dev/null >"$dir/log" 2>&1 &
for _ in $(seq 300); do
    grep -q 'from node 1' "$dir/log" && break
    sleep 0.1
done
ranks() { pgrep -xf "$faulty late $dir/go"; }
first=$(ranks | head -n 1)
[ "$(ranks | wc -l)" = 2 ] || fail "launcher: no ranks"
[ "$first" ] && kill -KILL "$(ps -o ppid= -p "$first")"
for _ in $(seq 300); do
    ranks >/dev/null || break
    sleep 0.1
done
ranks >/dev/null && fail "launcher: ranks live on without it" && pkill -KILL -xf "$faulty late $dir/go"
wait 2>/dev/null

# A thread waits in one context while it has left work in another.
: >"$dir/log"
rm -f "$dir/go"
TACIT_THREADS=0 timeout 90 "$tacit" run -n 2 "$faulty" two "$dir/go" 2> >(
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$dir/log"
        case $line in *"(node 0): this thread has waited in one context for"*) touch "$dir/go" ;; esac
    done
)
status=$?
[ -e "$dir/go" ] || fail "two: nothing was said of the other context"
[ $status = 0 ] || fail "two: the job ended with $status"
[ $failed = 0 ] && echo "faults: passed"
exit $failed
