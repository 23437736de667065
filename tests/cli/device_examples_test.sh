#!/bin/sh
# The examples that have kernels for devices get the bits of a sequential program from them: on one device and two, alone and beside the host, on one
# node and several. Skipped where there is no device of the kind.
# Usage: device_examples_test.sh opencl|cuda PATH-OF-TACIT FOLDER-OF-EXAMPLES NODES...
kind=$1
tacit=$2
examples=$3
shift 3
status=0

if ! "$tacit" info | grep -q "^  $kind:0 "; then
    echo "there is no device $kind:0 here"
    exit 77
fi

# verified NODES EXAMPLE ARGUMENTS...
verified() {
    nodes=$1
    example=$2
    shift 2
    if output=$("$tacit" run -n "$nodes" "$examples/$example" --verify "$@" 2>&1); then
        echo "$example on $nodes nodes, $TACIT_DEVICES"
    else
        echo "$example on $nodes nodes, $TACIT_DEVICES has failed:"
        echo "$output"
        status=1
    fi
}

for nodes; do
    for TACIT_DEVICES in "$kind:0" "$kind:0*3,$kind:0,host"; do
        export TACIT_DEVICES
        verified "$nodes" wave_sim --rows 61 --cols 53 --steps 20 --split 2d
        verified "$nodes" matmul --rows 61 --inner 57 --cols 53 --panels 3
        verified "$nodes" nbody --plummer 101 --steps 5
        verified "$nodes" jacobi --rows 17 --cols 13
        [ ! -x "$examples/heat3d" ] || verified "$nodes" heat3d --size 13 --steps 6
        verified "$nodes" torus --rows 23 --cols 31 --steps 9
        verified "$nodes" torus --rows 23 --cols 31 --steps 9 --split 2d
        [ ! -x "$examples/histogram" ] || verified "$nodes" histogram --items 5000 --bins 37
        [ ! -x "$examples/cg" ] || verified "$nodes" cg --rows 9 --cols 11
        [ ! -x "$examples/cg" ] || verified "$nodes" cg --rows 9 --cols 11 --overlap
        for tiled in cholesky lu summa; do
            [ ! -x "$examples/$tiled" ] || verified "$nodes" $tiled --size 53 --tile 12
            [ $kind = opencl ] || [ ! -x "$examples/$tiled" ] || verified "$nodes" $tiled --size 53 --tile 12 --cublas
        done
        verified "$nodes" sort --items 3000 --batches 2 --buckets 37
        verified "$nodes" rsim --detail 1 --steps 40
        [ ! -x "$examples/convolution" ] || verified "$nodes" convolution --generate 37x41 --radius 5 --split 2d
    done
done
exit $status
