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
trap 'rm -rf "$work"' EXIT
mkdir -p "$images"

# draw NAME NODES TASKS PROGRAM ARGUMENTS...: the graphs of the tasks FIRST:LAST of one run
draw() {
    local name=$1 nodes=$2 tasks=$3
    shift 3
    TACIT_GRAPH=$work/$name TACIT_GRAPH_TASKS=$tasks "$build/bin/tacit" run -n "$nodes" "$build/bin/$1" "${@:2}" \
        >/dev/null
    for graph in task command.0 instruction.0; do
        dot -Tsvg -Gsize=9,12 -o "$images/$name.$graph.svg" "$work/$name.$graph.dot"
        sed -i "s|$work/||g" "$images/$name.$graph.svg"
    done
}

draw nbody 2 4:7 nbody --plummer 1024 --steps 4
draw wave_sim 3 4:6 wave_sim --rows 64 --cols 64 --steps 6
"$build/bin/tacit" run -n 2 "$build/bin/wave_sim" --rows 256 --cols 256 --steps 200 --frames 2 --output "$work/frames" \
    >/dev/null
cp "$work/frames/frame_0001.png" "$images/wave_sim.png"
echo "wrote $images"
