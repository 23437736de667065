#!/bin/sh
# Runs a fuzz target over its corpus and some inputs more, the same each time; what it finds new is thrown away.
# Usage: fuzz_test.sh TARGET CORPUS [RUNS]
set -u
dir=$(mktemp -d)
mkdir "$dir/new" # apart from the log, which differs from run to run and would be taken for an input
trap 'rm -rf "$dir"' EXIT
"$1" -runs="${3:-3000}" -seed=1 -timeout=25 -rss_limit_mb=4096 -max_len=1024 -artifact_prefix="$dir/" -print_final_stats=1 "$dir/new" "$2" >"$dir/log" 2>&1
status=$?
if [ $status = 0 ]; then
    grep -E 'number_of_executed_units|average_exec' "$dir/log"
else
    cat "$dir/log"
    for input in "$dir"/crash-* "$dir"/timeout-* "$dir"/leak-* "$dir"/oom-*; do
        [ -f "$input" ] && echo "the input, in base64: $(base64 -w0 "$input")"
    done
fi
exit $status
