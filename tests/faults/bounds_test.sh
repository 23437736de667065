#!/usr/bin/env bash
# TACIT_BOUNDS_CHECK: kernels that touch what they did not declare are found and named, on one node and on two, and end the job.
# Usage: bounds_test.sh TACIT ASTRAY [NODES...]
set -u
tacit=$1 astray=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0 checked=0
# What may depend on the number of nodes: who finds it, and how the others hear of it.
several='read_above_1d write_below_rows read_above_columns_middle write_to_read_only corner not_written host_not_written thread fine'

fail()
{
    echo "FAILED: $*"
    sed 's/^/    /' "$dir/log"
    failed=1
}

for nodes in "${@:-1}"; do
    while read -r kind says; do
        [ "$nodes" = 1 ] || [[ " $several " == *" $kind "* ]] || continue
        checked=$((checked + 1))
        launch=
        [ "$nodes" = 1 ] || launch="$tacit run -n $nodes"
        TACIT_BOUNDS_CHECK=1 timeout 60 $launch "$astray" "$kind" >"$dir/log" 2>&1 </dev/null
        status=$?
        case $kind in
            fine*) grep -q tacit "$dir/log" && fail "$kind on $nodes nodes: there is nothing to say" ;;
            *) grep -q "task '$kind' on node [0-9]*,* $says" "$dir/log" || fail "$kind on $nodes nodes: no such sentence: $says" ;;
        esac
        case $kind in
            fine* | unsteady) [ $status = 0 ] || fail "$kind on $nodes nodes: it ended with $status" ;;
            *) [ $status = 124 ] && fail "$kind on $nodes nodes: the others went on waiting"
                [ $status = 0 ] && fail "$kind on $nodes nodes: nothing was found" ;;
        esac
    done < <("$astray" --list)
done
[ $checked -gt 40 ] || fail "only $checked programs ran"
[ $failed = 0 ] && echo "bounds: $checked programs, passed"
exit $failed
