#!/usr/bin/env bash
# Whatever fails of a device, on one of two nodes or on both: the job ends on both within seconds, and says what it was.
# Usage: device_failing_test.sh KIND TACIT DEVICE_FAILING     KIND: opencl or cuda
set -u
kind=$1 tacit=$2 program=$3 runs=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export TACIT_DEVICES=$kind:0,$kind:0 TACIT_KERNEL_CACHE=off
failed=0

if ! "$tacit" info | grep -q "^  $kind:0 "; then
    echo "there is no device $kind:0 here"
    exit 77
fi

fail()
{
    echo "FAILED: $*"
    sed 's/^/    /' "$log"
    failed=1
}

# ends SENTENCE ARGUMENTS...
ends()
{
    local sentence=$1
    shift
    timeout -k 5 100 "$tacit" run -n 2 "$program" "$kind" "$@" </dev/null >"$log" 2>&1
    local status=$?
    runs=$((runs + 1))
    [ $status = 124 ] && fail "$*: the job does not end"
    [ $status = 0 ] && fail "$*: the job says that all is well"
    grep -Eq "$sentence" "$log" || fail "$*: no sentence like '$sentence'"
}

timeout 100 "$tacit" run -n 2 "$program" "$kind" good >"$log" 2>&1 || fail "the program does not run"
ends "task 'around'.*(these|compile)" text
ends "task 'around'.*it does not start in step 5" function
TACIT_DEVICE_MEMORY=1k ends "which is 19.0 KiB more than 1.00 KiB \(device [a-z]*:0; TACIT_DEVICE_MEMORY\)" good
if "$tacit" info | grep -q "^  cuda:0  *Stub"; then # the driver of tests/cuda, which fails when it is told to
    for rank in 0 1; do
        ends "task 'around' on device cuda:0 cannot be started: CUDA_ERROR_LAUNCH_FAILED" cuLaunchKernel 3 719 once $rank
        ends "has failed: CUDA_ERROR_LAUNCH_FAILED|cannot be started: CUDA_ERROR_LAUNCH_FAILED" cuEventQuery 60 719 on $rank
        ends "a copy on device cuda:0 cannot be started" cuMemcpyDtoHAsync_v2 2 719 on $rank
        for nth in 1 3; do
            ends "no memory for .* of buffer 'u'" cuMemAlloc_v2 $nth 2 once $rank
        done
        ends "cuda:0 of TACIT_DEVICES cannot be used" cuStreamCreate 2 719 once $rank
    done
fi
[ "$runs" -ge 3 ] || fail "too few runs"
[ $failed = 0 ] && echo "device_failing: passed, $runs runs on $kind failed as they should"
exit $failed
