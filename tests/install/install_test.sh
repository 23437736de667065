#!/usr/bin/env bash
# Installs a build into a folder, moves that folder, and builds and runs programs outside the tree with what it contains: by
# find_package(Tacit) and by pkg-config, in C11 and in C++17.
# Usage: install_test.sh BUILD_DIR C_COMPILER [WITH_MPI: ON or OFF]
set -u
build=$1
export CC=$2
mpi=${3:-OFF}
consumer=$(cd "$(dirname "$0")" && pwd)/consumer
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

# step WHAT COMMAND...: its output is shown if it fails.
step()
{
    local what=$1
    shift
    if "$@" >"$dir/log" 2>&1 </dev/null; then
        echo "passed: $what"
        return 0
    fi
    failures=$((failures + 1))
    echo "FAILED: $what: $*"
    tail -n 40 "$dir/log"
    return 1
}

# runs NAME PROGRAM: on one node and on several, it computes what it should.
runs()
{
    local nodes launch
    for nodes in 1 3; do
        launch=(-n $nodes)
        [ $nodes = 1 ] && launch=()
        [ $nodes -gt 1 ] && [ "$mpi" != ON ] && continue
        step "$1, nodes: $nodes" "$prefix/bin/tacit" run "${launch[@]}" "$2" || continue
        grep -qx "sum 646899 on $nodes nodes" "$dir/log" && continue
        failures=$((failures + 1))
        echo "FAILED: $1, nodes: $nodes: it prints:"
        cat "$dir/log"
    done
}

step 'install' cmake --install "$build" --prefix "$dir/first" || exit 1
# Nothing may depend on where it was installed.
mkdir "$dir/elsewhere"
mv "$dir/first" "$dir/elsewhere/tacit"
prefix=$dir/elsewhere/tacit
pc=$(find "$prefix" -name tacit.pc)
export PKG_CONFIG_PATH=${pc%/tacit.pc}
unset CFLAGS CXXFLAGS LDFLAGS CPPFLAGS

step 'the tool' "$prefix/bin/tacit" --version
step 'the tool finds its library' "$prefix/bin/tacit" info
for header in "$(dirname "$0")"/../../include/tacit/*.h; do
    step "header ${header##*/}" cmp "$header" "$prefix/include/tacit/${header##*/}"
done
if [ -d "$build/libexec" ]; then
    for bench in "$build"/libexec/tacit-bench-*; do
        step "benchmark ${bench##*-}" "$prefix/bin/tacit" bench "${bench##*-}" --help
    done
fi

# What the documents refer to was installed with them.
links()
{
    local page link missing=0
    for page in "$1"/*.md "$1"/doc/*.md "$1"/doc/guide/*.md; do
        while read -r link; do
            [ -e "${page%/*}/$link" ] || { echo "$page: $link"; missing=1; }
        done < <(sed '/^```/,/^```/d' "$page" | grep -o '](\([^)#: ]\+\)[)#]' | sed 's/^](//; s/[)#]$//')
    done
    return $missing
}
step 'links of installed documents' links "$prefix/share/doc/tacit"

# By find_package.
step 'configure a consumer' cmake -S "$consumer" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' \
    -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror'
step 'build a consumer' cmake --build "$dir/cmake" &&
    runs 'a C program by find_package' "$dir/cmake/consumer_c"
if [ -x "$dir/cmake/consumer_cpp" ]; then
    runs 'a C++ program by find_package' "$dir/cmake/consumer_cpp"
else
    echo 'skipped: C++, since there is no c++ compiler'
fi
[ "$mpi" != ON ] || runs 'an MPI program by find_package' "$dir/cmake/consumer_mpi"
if [ "$mpi" != ON ]; then
    mkdir "$dir/component"
    echo 'cmake_minimum_required(VERSION 3.20)
project(component LANGUAGES C)
find_package(Tacit REQUIRED COMPONENTS MPI)' >"$dir/component/CMakeLists.txt"
    step 'the component MPI is not there' sh -c '! cmake -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$2"' x "$dir/component" "$prefix"
fi
echo 'cmake_minimum_required(VERSION 3.20)
project(newer LANGUAGES C)
find_package(Tacit 9.1 REQUIRED)' >"$dir/CMakeLists.txt"
step 'another version is refused' sh -c 'cmake -S "$1" -B "$1/newer" -DCMAKE_PREFIX_PATH="$2" 2>&1 | grep -q "TacitConfig.cmake, version: "' x "$dir" "$prefix"

# The examples that were installed are a project of their own.
cp -r "$prefix/share/doc/tacit/examples" "$dir/examples"
step 'configure installed examples' cmake -S "$dir/examples" -B "$dir/examples/build" -DCMAKE_PREFIX_PATH="$prefix" &&
    step 'build installed examples' cmake --build "$dir/examples/build" --target hello heat3d &&
    step 'an installed example' "$dir/examples/build/hello" 4

# By pkg-config, as one types it.
cflags=$(pkg-config --cflags tacit) libs=$(pkg-config --libs tacit)
export LD_LIBRARY_PATH=${pc%/pkgconfig/tacit.pc}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Flags are words.
# shellcheck disable=SC2086
step 'compile C by pkg-config' "$CC" -std=c11 -Wall -Wextra -Werror $cflags -o "$dir/c" "$consumer/consumer.c" $libs &&
    runs 'a C program by pkg-config' "$dir/c"
# Without NDEBUG every access is checked.
# shellcheck disable=SC2086
step 'compile C with NDEBUG' "$CC" -std=c11 -O2 -DNDEBUG $cflags -o "$dir/c" "$consumer/consumer.c" $libs &&
    runs 'a C program with NDEBUG' "$dir/c"
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2086
    step 'compile C++ by pkg-config' c++ -std=c++17 -pedantic -Wall -Wextra -Werror $cflags -o "$dir/cpp" "$consumer/consumer.cpp" $libs &&
        runs 'a C++ program by pkg-config' "$dir/cpp" &&
        step 'compile with tacit/tacit.hpp' c++ -std=c++17 -pedantic -Wall -Wextra -Werror -O2 -DNDEBUG $cflags -o "$dir/hpp" \
            "$consumer/../../../lib/cpp/examples/matmul.cpp" $libs &&
        step 'a program with tacit/tacit.hpp' "$dir/hpp" 50
fi
# Files, by a library beside.
cflags=$(pkg-config --cflags tacit-io) libs=$(pkg-config --libs tacit-io)
sed -n '/^```c$/,/^```$/p' "$consumer/../../../doc/io.md" | grep -v '^```' >"$dir/io.c"
# shellcheck disable=SC2086
step 'compile with tacit/io.h' "$CC" -std=c11 -Wall -Wextra -Werror -O2 -DNDEBUG $cflags -o "$dir/io" "$dir/io.c" $libs &&
    step 'a program with tacit/io.h' sh -c 'cd "$1" && ./io && ./io && grep -q NUMPY u.npy' x "$dir"
# The modules for Fortran, where they were built.
if [ -e "${pc%/tacit.pc}/tacit-fortran.pc" ]; then
    cflags=$(pkg-config --cflags tacit-fortran) libs=$(pkg-config --libs tacit-fortran)
    sed -n '/^```fortran$/,/^```$/ { p; /^```$/q }' "$consumer/../../../doc/fortran.md" | grep -v '^```' >"$dir/page.f90"
    # shellcheck disable=SC2086
    step 'compile Fortran by pkg-config' gfortran -J "$dir" $cflags -o "$dir/f" "$dir/page.f90" $libs &&
        step 'a program in Fortran' sh -c '"$1" | grep -qx "the sum is 4950.0"' x "$dir/f"
    mkdir "$dir/fortran"
    cp "$dir/page.f90" "$dir/fortran"
    echo 'cmake_minimum_required(VERSION 3.20)
project(page LANGUAGES C Fortran)
find_package(Tacit REQUIRED)
add_executable(page page.f90)
target_link_libraries(page PRIVATE tacit::fortran)' >"$dir/fortran/CMakeLists.txt"
    step 'Fortran by find_package' sh -c 'cmake -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$2" && cmake --build "$1/build"' x "$dir/fortran" "$prefix" &&
        step 'that program' sh -c '"$1" | grep -qx "the sum is 4950.0"' x "$dir/fortran/build/page"
fi
# Programs that include tacit/mpi.h.
if [ "$mpi" = ON ]; then
    cflags=$(pkg-config --cflags tacit-mpi) libs=$(pkg-config --libs tacit-mpi)
    # shellcheck disable=SC2086
    step 'compile an MPI program by pkg-config' "$CC" -std=c11 -Wall -Wextra -Werror $cflags -o "$dir/m" "$consumer/consumer_mpi.c" $libs &&
        runs 'an MPI program by pkg-config' "$dir/m"
    if command -v c++ >/dev/null; then
        echo '#include <tacit/mpi.h>
tacit_status start(MPI_Comm comm, tacit_context **ctx) { return tacit_init_mpi(comm, nullptr, ctx); }' >"$dir/m.cpp"
        # shellcheck disable=SC2086
        step 'tacit/mpi.h in C++' c++ -std=c++17 -Wall -Werror $cflags -c -o "$dir/m.o" "$dir/m.cpp"
    fi
fi
step 'the version of tacit.pc' sh -c '"$1" --version | grep -qF "tacit $(pkg-config --modversion tacit) "' x "$prefix/bin/tacit"

if [ $failures = 0 ]; then
    echo 'install: passed'
else
    echo "install: $failures failed"
fi
[ $failures = 0 ]
