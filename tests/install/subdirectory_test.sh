#!/usr/bin/env bash
# A project that takes tacit in by add_subdirectory is configured: it gets the libraries and nothing else, keeps its own build type, and
# installs nothing of tacit. With --build its program is also built and run (which compiles the library once more).
# Usage: subdirectory_test.sh SOURCE C_COMPILER [--build] [CMAKE-OPTION...]
set -u
source=$(cd "$1" && pwd)
export CC=$2
shift 2
build=
[ "${1-}" = --build ] && build=1 && shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed()
{
    echo "FAILED: $1"
    [ ! -e "$dir/log" ] || tail -n 40 "$dir/log"
    exit 1
}
cp "$source/tests/install/consumer/consumer.c" "$dir/consumer.c"
sed -n '/^```c$/,/^```$/p' "$source/doc/io.md" | grep -v '^```' >"$dir/files.c"
echo "cmake_minimum_required(VERSION 3.20)
project(outer LANGUAGES C)
add_subdirectory($source tacit)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE tacit::tacit)
add_executable(files files.c)
target_link_libraries(files PRIVATE tacit::io)
if(NOT CMAKE_BUILD_TYPE STREQUAL \"\" OR NOT TARGET tacit::mpi)
    message(FATAL_ERROR \"the build type is '\${CMAKE_BUILD_TYPE}', or there is no tacit::mpi\")
endif()" >"$dir/CMakeLists.txt"
cmake -G Ninja -S "$dir" -B "$dir/build" "$@" >"$dir/log" 2>&1 || failed 'it cannot be configured'
targets=$(ninja -C "$dir/build" -t targets all | sed -n 's/: phony$//p' | grep -E '^[a-z_0-9]+$' |
    grep -vE '^(all|clean|edit_cache|rebuild_cache|codegen|cmake_object_order_.*)$' | sort | tr '\n' ' ')
[ "$targets" = "tacit tacit_io tacit_io_objects tacit_objects " ] || failed "the targets are: $targets"
ls "$dir"/build/tacit/cmake_install.cmake >/dev/null || failed 'there is no folder for tacit'
! grep -rlE 'file\(INSTALL' "$dir/build" --include=cmake_install.cmake >"$dir/log" || failed 'it would install something'
if [ "$build" ]; then
    ninja -C "$dir/build" >"$dir/log" 2>&1 || failed 'it cannot be built'
    (cd "$dir" && "$(find build -name consumer -type f)") >"$dir/log" 2>&1
    grep -qx 'sum 646899 on 1 nodes' "$dir/log" || failed 'the program is not right'
    (cd "$dir" && "$(find build -name files -type f)") >"$dir/log" 2>&1
    grep -qx '10 steps so far' "$dir/log" || failed 'the program with files is not right'
fi
echo 'subdirectory: passed'
