#!/bin/sh
# The examples that have kernels for devices get the bits of a sequential program from them: on one device and two, alone and beside the host, on one
# node and several. Skipped where there is no device of the kind.
# Usage: device_examples_test.sh opencl|cuda stencils|sums|tiles PATH-OF-TACIT FOLDER-OF-EXAMPLES NODES...
kind=$1
group=$2
tacit=$3
examples=$4
shift 4
status=0
second="$kind:0*3,$kind:0,host"
[ "$group" != tiles ] || second="$kind:0,$kind:0" # the host would compute all of them

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

stencils() {
    verified "$1" wave_sim --rows 61 --cols 53 --steps 20 --split 2d
    verified "$1" matmul --rows 61 --inner 57 --cols 53 --panels 3
    verified "$1" nbody --plummer 101 --steps 5
    verified "$1" nbody --plummer 67 --steps 2 --parts 1
    verified "$1" nbody --plummer 67 --steps 2 --parts 32
    verified "$1" jacobi --rows 17 --cols 13
    [ ! -x "$examples/heat3d" ] || verified "$1" heat3d --size 13 --steps 6
    verified "$1" rsim --detail 1 --steps 40
    [ ! -x "$examples/mpi_adopt" ] || verified "$1" mpi_adopt --rows 33 --cols 29 --before 7 --steps 20 --after 5
    [ ! -x "$examples/mandelbrot" ] || verified "$1" mandelbrot --rows 31 --cols 47 --iterations 300 --frames 4
    [ ! -x "$examples/convolution" ] || verified "$1" convolution --generate 37x41 --radius 5 --split 2d
}

# Accesses in parts and by custom mappers, reductions.
sums() {
    verified "$1" torus --rows 23 --cols 31 --steps 9 --split 2d
    [ ! -x "$examples/histogram" ] || verified "$1" histogram --items 5000 --bins 37
    [ ! -x "$examples/cg" ] || verified "$1" cg --rows 9 --cols 11
    [ ! -x "$examples/cg" ] || verified "$1" cg --rows 9 --cols 11 --overlap
    verified "$1" powers --rows 61 --cols 13 --power 7
    verified "$1" sort --items 3000 --batches 2 --buckets 37
}

# A matrix that has a factor up to row 4 of 6: who finds that is on a device, and who says it is not.
indefinite() {
    file=$(mktemp)
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n6 6 7\n1 1 2\n2 2 2\n3 3 2\n4 4 2\n5 5 2\n6 6 2\n4 1 -3\n' >"$file"
    if output=$("$tacit" run -n "$1" "$examples/cholesky" --matrix "$file" --tile 2 --cublas 2>&1) ||
        ! echo "$output" | grep -q "tile (1, 1) has no factor, from row 4 of the matrix on"; then
        echo "cholesky on $1 nodes, $TACIT_DEVICES, of a matrix without a factor:"
        echo "$output"
        status=1
    fi
    rm -f "$file"
}

tiles() {
    [ "$kind" = opencl ] || [ ! -x "$examples/cholesky" ] || indefinite "$1"
    for tiled in cholesky lu summa; do
        [ ! -x "$examples/$tiled" ] || verified "$1" $tiled --size 53 --tile 12
        [ "$kind" = opencl ] || [ ! -x "$examples/$tiled" ] || verified "$1" $tiled --size 53 --tile 12 --cublas
    done
}

# Stencils in all ways; the others on one device of one node, and on all of the last number of nodes.
export TACIT_DEVICES
if [ "$group" = stencils ]; then
    for nodes; do
        for TACIT_DEVICES in "$kind:0" "$second"; do
            stencils "$nodes"
        done
    done
else
    TACIT_DEVICES="$kind:0"
    $group "$1"
    shift $(($# - 1))
    TACIT_DEVICES=$second
    $group "$1"
fi
exit $status
