#!/usr/bin/env bash
# The module file: `module load tacit` in an installation that was moved makes the tool, the compiler and Python find it, and unload
# takes that back. With Environment Modules and with Lmod, whichever are installed; skipped where neither is.
# Usage: module_test.sh BUILD C-COMPILER VERSION
set -u
build=$1 compiler=$2 version=$3
commands=()
for command in /usr/lib/*/modulecmd.tcl /usr/libexec/modulecmd.tcl /usr/share/lmod/lmod/libexec/lmod; do
    [ -x "$command" ] && commands+=("$command")
done
if [ ${#commands[@]} = 0 ]; then
    echo 'module: neither Environment Modules nor Lmod is installed, so the module file is not loaded (tools/setup --check installs one)'
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cmake --install "$build" --prefix "$dir/first" >"$dir/log" 2>&1 || { tail "$dir/log"; exit 1; }
mv "$dir/first" "$dir/moved"
failures=0
check()
{
    "${@:2}" && return
    failures=$((failures + 1))
    echo "FAILED: $1"
}
cat >"$dir/program.c" <<'END'
#include <tacit/tacit.h>
int main(void)
{
    tacit_context *ctx;
    return tacit_init(NULL, &ctx) || tacit_finalize(ctx);
}
END
for command in "${commands[@]}"; do
    (
        export MODULEPATH=$dir/moved/share/modulefiles
        unset LD_LIBRARY_PATH CPATH LIBRARY_PATH PKG_CONFIG_PATH
        before=$PATH
        eval "$("$command" bash load tacit 2>"$dir/said")"
        check "$command: load: $(cat "$dir/said")" test "$(command -v tacit)" = "$dir/moved/bin/tacit"
        check "$command: the version" grep -q "$version" <(tacit --version)
        check "$command: pkg-config" test "$(pkg-config --variable=prefix tacit | xargs realpath)" = "$(realpath "$dir/moved")"
        check "$command: a program compiles" "$compiler" -o "$dir/program" "$dir/program.c" -ltacit
        check "$command: a program runs" "$dir/program"
        check "$command: Python" grep -q "$dir/moved/lib/python3" <<<"${PYTHONPATH-}"
        eval "$("$command" bash unload tacit 2>"$dir/said")"
        check "$command: unload takes everything back: $(cat "$dir/said")" test "$PATH" = "$before" -a -z "${CPATH-}${PKG_CONFIG_PATH-}"
        exit $failures
    ) || failures=$((failures + $?))
done
[ $failures = 0 ] && echo "module: passed (${commands[*]})"
[ $failures = 0 ]
