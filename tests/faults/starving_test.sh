#!/usr/bin/env bash
# Memory that runs out on one of two nodes over MPI ends the job on both, soon, with a sentence.
# Usage: starving_test.sh TACIT STARVING
set -u
tacit=$1 starving=$2 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fail()
{
    echo "FAILED: $*"
    sed 's/^/    /' "$log"
    failed=1
}

# One run: the rank that starves, at its nth allocation, and `all` if nothing is left after it.
run()
{
    timeout 60 "$tacit" run -n 2 "$starving" --mpi "$@" >"$log" 2>&1
}

run -1 0 || fail "the program does not run with enough memory"
calls=$(sed -n 's/^rank 0: \([0-9]*\) allocations$/\1/p' "$log")
[ "${calls:-0}" -gt 100 ] || fail "allocations were not counted"
for n in 0 1 2 20 $((calls / 4)) $((calls / 2)) $((calls * 3 / 4)) $((calls * 9 / 10)); do
    run "$n" $((n % 2)) ${all-}
    status=$?
    [ $status = 124 ] && fail "allocation $n: the job does not end"
    [ $status = 0 ] && fail "allocation $n: the job says that all is well"
    grep -Eq 'no memory|cannot be started' "$log" || fail "allocation $n: no sentence"
    if [ "${all-}" ]; then unset all; else all=all; fi
done
[ $failed = 0 ] && echo "starving: passed, of $calls allocations on rank 0"
exit $failed
