#!/bin/bash
# examples/demo.sh BUILD_DIR: gravity on 1 and on 4 nodes, and whether both get the same bits.
#
# Runs examples/nbody with a Plummer sphere of 8 192 bodies and with the Sun, the planets and Pluto, prints a table,
# and writes pictures to BUILD_DIR/demo. Exit status 1 if a run fails or the final positions differ in a single bit.
# DEMO_BODIES, DEMO_STEPS and DEMO_NODES change the size of the first job.
set -euo pipefail

usage='usage: examples/demo.sh BUILD_DIR'
build=$(cd "${1:?$usage}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
out=$build/demo
bodies=${DEMO_BODIES:-8192}
steps=${DEMO_STEPS:-256}
nodes=${DEMO_NODES:-4}

planets=$source/examples/data/planets.csv
progress=()
[ ! -t 2 ] || progress=(--progress)
mkdir -p "$out"

# run NAME NODES ARGUMENTS...: one run of nbody, its results in $out/NAME.NODES.json
run() {
    local name=$1 count=$2
    shift 2
    "$build/bin/tacit" run -n "$count" "$build/bin/nbody" "$@" "${progress[@]}" --json >"$out/$name.$count.json" || {
        echo "demo: the run '$name' on $count nodes failed" >&2
        exit 1
    }
}

# value NAME NODES KEY: one result of a run; empty if it has none of that name
value() {
    sed -n "s/^ *\"$3\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$out/$1.$2.json"
}

# row TITLE NAME NODES AGREE: one line of the table
row() {
    awk -v title="$1" -v agree="$4" -v nodes="$3" -v time="$(value "$2" "$3" seconds_per_step)" \
        -v rate="$(value "$2" "$3" interactions_per_second)" -v messages="$(value "$2" "$3" messages_per_step)" \
        -v bytes="$(value "$2" "$3" bytes_per_step)" -v energy="$(value "$2" "$3" energy_error)" 'BEGIN {
        unit = time < 1e-3 ? "us" : "ms"
        printf "%-22s %5d %10.3f %s %14.3g %13.2f %11.0f %12.2g   %s\n", title, nodes,
               time * (unit == "us" ? 1e6 : 1e3), unit, rate, messages, bytes, energy, agree }'
}

# agree NAME: whether the final positions of both runs have the same hash
agree() {
    local one four
    one=$(value "$1" 1 positions_hash)
    four=$(value "$1" "$nodes" positions_hash)
    if [ -n "$one" ] && [ "$one" = "$four" ]; then echo yes; else echo NO; fi
}

# task NAME K: the number of the K-th task of that name, from the task graph of the whole run
task() {
    sed -n "s/.*label=\"T\([0-9]*\) $1 .*/\1/p" "$out/nbody.task.dot" | sed -n "$2p"
}

# The three graphs of two time steps of a small run, the second and the third: from the second kick to before the fourth.
graphs() {
    local small=("$build/bin/tacit" run -n "$nodes" "$build/bin/nbody" --plummer 1024 --steps 4)
    TACIT_GRAPH=$out/nbody "${small[@]}" >/dev/null
    TACIT_GRAPH=$out/nbody TACIT_GRAPH_TASKS=$(task kick 2):$(task kick 4) "${small[@]}" >/dev/null
    for graph in task command.0 instruction.0; do
        dot -Tsvg -o "$out/nbody.$graph.svg" "$out/nbody.$graph.dot"
    done
}

echo "tacit: direct N-body simulation on 1 and on $nodes nodes (processes of this machine, $(nproc) cores)"
for count in 1 "$nodes"; do
    echo "  Plummer sphere, $bodies bodies, $steps steps, nodes: $count" >&2
    run plummer "$count" --plummer "$bodies" --steps "$steps" --seed 1 --png "$out/bodies.png"
done
for count in 1 "$nodes"; do
    echo "  Sun, planets and Pluto, one year, nodes: $count" >&2
    run planets "$count" --planets "$planets" --png "$out/planets.png"
done
echo "  graphs of two steps" >&2
graphs

echo
printf '%-22s %5s %13s %14s %13s %11s %12s   %s\n' input nodes time/step interactions/s messages/step bytes/step \
    'energy error' 'same bits as 1 node'
row "Plummer, $bodies" plummer 1 ''
row "Plummer, $bodies" plummer "$nodes" "$(agree plummer)"
row "planets, $(value planets 1 steps) steps" planets 1 ''
row "planets, $(value planets 1 steps) steps" planets "$nodes" "$(agree planets)"
echo
awk -v body="$(value planets "$nodes" worst_body)" -v au="$(value planets "$nodes" position_error_au)" \
    -v km="$(value planets "$nodes" position_error_km)" -v arcsec="$(value planets "$nodes" position_error_arcsec)" \
    'BEGIN { printf "After a year %s is farthest from its ephemeris: %.2g AU = %.0f km, %.2f\" seen from the Sun.\n",
             body, au, km, arcsec }'
echo "Plummer sphere: seed $(value plummer 1 seed), softening $(value plummer 1 softening), steps of" \
    "$(value plummer 1 dt), standard N-body units."
echo "Pictures: $out/bodies.png, $out/planets.png"
echo "Graphs of two time steps: $out/nbody.task.svg, $out/nbody.command.0.svg, $out/nbody.instruction.0.svg"

if [ "$(agree plummer)" != yes ] || [ "$(agree planets)" != yes ]; then
    echo "demo: the final positions on 1 and on $nodes nodes differ" >&2
    exit 1
fi
