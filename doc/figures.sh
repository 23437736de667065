#!/bin/bash
# doc/figures.sh BUILD_DIR: draw the pictures of doc/model.md again, from real runs of the examples.
#
# Writes doc/images/*.svg and *.png. Needs graphviz. The pictures are part of the repository; run this after a change
# of what the graphs look like.
set -euo pipefail

usage='usage: doc/figures.sh BUILD_DIR'
build=$(cd "${1:?$usage}" && pwd)
images=$(cd "$(dirname "$0")" && pwd)/images
work=$(mktemp -d)
export TACIT_COLLECTIVES=off # the text is about messages
trap 'rm -rf "$work"' EXIT
mkdir -p "$images"

# task GRAPH NAME K: the number of the K-th task of that name
task() {
    sed -n "s/.*label=\"T\([0-9]*\) $2 .*/\1/p" "$work/$1.task.dot" | sed -n "$3p"
}

# draw NODES NODE TASK FIRST LAST PROGRAM ARGUMENTS...: the graphs of one node, from the FIRST-th to before the
# LAST-th task of that name
draw() {
    local nodes=$1 node=$2 name=$3 first=$4 last=$5 program=$6
    shift 6
    local run=("$build/bin/tacit" run -n "$nodes" "$build/bin/$program" "$@")
    TACIT_GRAPH=$work/$program "${run[@]}" >/dev/null
    TACIT_GRAPH=$work/$program TACIT_GRAPH_TASKS=$(task "$program" "$name" "$first"):$(task "$program" "$name" "$last") \
        "${run[@]}" >/dev/null
    for graph in task "command.$node" "instruction.$node"; do
        dot -Tsvg -Gsize=9,12 -o "$images/$program.$graph.svg" "$work/$program.$graph.dot"
    done
}

draw 2 0 kick 2 4 nbody --plummer 1024 --steps 4
# The report of `tacit trace`, where there is a browser.
if command -v chromium >/dev/null; then
    TACIT_WORKERS=1 TACIT_COLLECTIVES=lookahead "$build/bin/tacit" trace -n 3 --output "$work/report" "$build/bin/wave_sim" --rows 2400 \
        --cols 1600 --steps 12 >/dev/null
    python3 "$(dirname "$0")/../tests/cli/trace_page_test.py" - - --pictures "$work/report.html" "$images"
fi
# The same with messages and with collectives, on four nodes.
four=("$build/bin/tacit" run -n 4 "$build/bin/nbody" --plummer 1024 --steps 4)
TACIT_GRAPH=$work/whole "${four[@]}" >/dev/null
for mode in off lookahead; do
    TACIT_COLLECTIVES=$mode TACIT_GRAPH=$work/four TACIT_GRAPH_TASKS=$(task whole drift 2):$(task whole drift 3) \
        "${four[@]}" >/dev/null
    dot -Tsvg -Gsize=9,12 -o "$images/nbody.$mode.svg" "$work/four.command.0.dot"
done
dot -Tsvg -Gsize=9,12 -o "$images/nbody.forward.svg" "$work/four.task.dot"
draw 3 1 advance 2 4 wave_sim --rows 64 --cols 64 --steps 6
rm "$images/wave_sim.task.svg" "$images/wave_sim.instruction.1.svg"
"$build/bin/tacit" run -n 2 "$build/bin/wave_sim" --rows 256 --cols 256 --steps 200 --frames 2 --output "$work/frames" \
    >/dev/null
cp "$work/frames/frame_0001.png" "$images/wave_sim.png"
echo "wrote $images"
