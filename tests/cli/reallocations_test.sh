#!/bin/sh
# The loops of the examples resize no allocation: with three times as many steps as many allocations grow as with the first ones. Where nothing
# is waited for between the first task and the loop, none grows at all (without lookahead, those of nbody do on several nodes).
# Usage: reallocations_test.sh PATH-OF-TACIT FOLDER-OF-EXAMPLES NODES...
tacit=$1
examples=$2
shift 2
export TACIT_LOG=info TACIT_LOOKAHEAD=full
status=0
what=reallocations

# grown NODES COMMAND...: the counter `what` of each node, sorted, as one word; "failed" if the program did.
grown() {
    nodes=$1
    shift
    if ! output=$("$tacit" run -n "$nodes" "$@" 2>&1); then
        echo failed
        return
    fi
    found=$(echo "$output" | sed -n "s/.*counters:.* $what=\([0-9]*\).*/\1/p" | sort -n | tr '\n' ,)
    if [ "$(echo "$found" | tr -cd , | wc -c)" -eq "$nodes" ]; then
        echo "$found"
    else
        echo "failed, or no counters: $found"
    fi
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

# little COUNTER MOST NODES EXAMPLE ARGUMENTS...: each step appends, but no node counts more than MOST
little() {
    what=$1
    most=$2
    nodes=$3
    example=$4
    shift 4
    found=$(grown "$nodes" "$examples/$example" --verify "$@")
    for each in $(echo "$found" | tr ',' ' '); do
        if ! [ "$each" -le "$most" ]; then
            echo "$example on $nodes nodes, devices $TACIT_HOST_DEVICES: $what $found at most $most are right" >&2
            status=1
        fi
    done
    echo "$example on $nodes nodes, devices $TACIT_HOST_DEVICES: $what $found"
    what=reallocations
}

for nodes; do
    for TACIT_HOST_DEVICES in 1 2:discrete; do
        export TACIT_HOST_DEVICES
        none "$nodes" hello
        none "$nodes" histogram
        none "$nodes" nbody --plummer 101 --steps 36
        # The buffer has 408 000 bytes, in up to three memories. Its rows are appended one by one.
        little reallocated_bytes 4000000 "$nodes" rsim --detail 1 --steps 300
        little reallocations 40 "$nodes" rsim --detail 1 --steps 300
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
