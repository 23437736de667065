#!/bin/sh
# The loops of the examples resize no allocation: with three times as many steps as many allocations grow as with the first ones. Where nothing
# is waited for between the first task and the loop, none grows at all (without lookahead, those of nbody do on several nodes).
# Usage: reallocations_test.sh PATH-OF-TACIT FOLDER-OF-EXAMPLES NODES...
tacit=$1
examples=$2
shift 2
export TACIT_LOG=info TACIT_LOOKAHEAD=full
status=0

# run_on NODES COMMAND...: what the program says, or "failed"; one node needs no launcher
run_on() {
    nodes=$1
    shift
    [ "$nodes" -eq 1 ] || set -- "$tacit" run -n "$nodes" "$@"
    "$@" 2>&1 || echo failed
}

# counts WHAT NODES OUTPUT: that counter of each node, sorted, as one word; "failed" if the program did.
counts() {
    found=$(echo "$3" | sed -n "s/.*counters:.* $1=\([0-9]*\).*/\1/p" | sort -n | tr '\n' ,)
    if [ "${3%failed}" = "$3" ] && [ "$(echo "$found" | tr -cd , | wc -c)" -eq "$2" ]; then
        echo "$found"
    else
        echo "$3" | grep -v counters: | head -20 >&2
        echo "failed, or no counters: $found"
    fi
}

# grown NODES COMMAND...: how many allocations have grown
grown() {
    counts reallocations "$1" "$(run_on "$@")"
}

# same NODES OPTION EXAMPLE ARGUMENTS...: with OPTION 12 and 36
same() {
    nodes=$1
    option=$2
    example=$examples/$3
    shift 3
    few=$(grown "$nodes" "$example" --verify "$@" "$option" 12)
    many=$(grown "$nodes" "$example" --verify "$@" "$option" 36)
    if [ "$few" = "$many" ] && [ "${few#failed}" = "$few" ]; then
        echo "${example##*/} on $nodes nodes, devices $TACIT_HOST_DEVICES: $few whatever the number of steps"
    else
        echo "${example##*/} on $nodes nodes, devices $TACIT_HOST_DEVICES, $option 12: $few $option 36: $many" >&2
        status=1
    fi
}

# none NODES EXAMPLE ARGUMENTS...
none() {
    nodes=$1
    example=$2
    shift 2
    found=$(grown "$nodes" "$examples/$example" --verify "$@")
    if echo "$found" | grep -Eq '^(0,)+$'; then
        echo "$example on $nodes nodes, devices $TACIT_HOST_DEVICES: none"
    else
        echo "$example on $nodes nodes, devices $TACIT_HOST_DEVICES: $found" >&2
        status=1
    fi
}

# little TIMES BYTES NODES EXAMPLE ARGUMENTS...: each step appends, but no node grows more often, and by more, than that
little() {
    times=$1
    bytes=$2
    nodes=$3
    example=$4
    shift 4
    output=$(run_on "$nodes" "$examples/$example" --verify "$@")
    most "$times" reallocations
    most "$bytes" reallocated_bytes
}

# most COUNT WHAT: of the program that has just run
most() {
    found=$(counts "$2" "$nodes" "$output")
    for each in $(echo "$found" | tr ',' ' '); do
        if ! [ "$each" -le "$1" ]; then
            echo "$example on $nodes nodes, devices $TACIT_HOST_DEVICES: $2 $found at most $1 are right" >&2
            status=1
        fi
    done
    echo "$example on $nodes nodes, devices $TACIT_HOST_DEVICES: $2 $found"
}

for nodes; do
    for TACIT_HOST_DEVICES in 1 2:discrete; do
        export TACIT_HOST_DEVICES
        none "$nodes" hello
        none "$nodes" histogram
        none "$nodes" nbody --plummer 101 --steps 36
        # The buffer has 408 000 bytes, in up to three memories. Its rows are appended one by one.
        little 40 4000000 "$nodes" rsim --detail 1 --steps 300
        same "$nodes" --steps wave_sim --rows 61 --cols 53
        same "$nodes" --steps wave_sim --rows 61 --cols 53 --split 2d
        same "$nodes" --max-iterations jacobi --rows 33 --cols 29
        same "$nodes" --repeat matmul --rows 61 --inner 67 --cols 53
        same "$nodes" --max-iterations cg --rows 17 --cols 31
        # What follows runs once on one node with two memories, and once on several nodes.
        case "$nodes:$TACIT_HOST_DEVICES" in 1:1 | [2-9]:2:discrete) continue ;; esac
        same "$nodes" --steps torus --rows 23 --cols 31
        same "$nodes" --power powers --rows 31 --cols 13
        [ ! -x "$examples/heat3d" ] || same "$nodes" --steps heat3d --size 11
        [ ! -x "$examples/mandelbrot" ] || same "$nodes" --frames mandelbrot --rows 31 --cols 17 --iterations 50
        for tiled in cholesky lu summa; do
            [ ! -x "$examples/$tiled" ] || none "$nodes" $tiled --size 53 --tile 12
        done
    done
done
exit $status
