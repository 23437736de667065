#!/bin/sh
# tools/setup on machines that are not this one: commands that it calls are replaced by ones that say what they are told to.
# Usage: setup_test.sh PATH-OF-SETUP
set -u
setup=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
mkdir "$dir/bin"

# Packages that the machine lacks stand in the file `missing`; what is done to it, in `log`.
command_is()
{
    printf '#!/bin/sh\ndir=%s\n%s\n' "$dir" "$2" >"$dir/bin/$1"
    chmod +x "$dir/bin/$1"
}
command_is dpkg-query 'for package; do :; done; grep -qx "$package" "$dir/missing" && { echo "no packages found" >&2; exit 1; }; echo installed'
command_is id 'cat "$dir/user"'
command_is apt-get 'echo "apt-get $*" >>"$dir/log"; [ -e "$dir/broken" ] && { echo "E: no network" >&2; exit 100; }; : >"$dir/missing"'

# expect STATUS OUTPUT LOG [ARGUMENT]: what tools/setup prints (a pattern of case), and what was done, one line each.
expect()
{
    : >"$dir/log"
    out=$(PATH=$dir/bin:$path sh "$setup" ${4-} 2>&1)
    status=$?
    log=$(cat "$dir/log")
    # The pattern is meant to be one.
    # shellcheck disable=SC2254
    case $out in
    $2) matches=yes ;;
    *) matches=no ;;
    esac
    if [ $status != "$1" ] || [ $matches = no ] || [ "$log" != "$3" ]; then
        failures=$((failures + 1))
        printf 'FAILED: user %s, missing %s\n  status %s, expected %s\n  output:   %s\n  expected: %s\n  done:     %s\n  expected: %s\n' \
            "$(cat "$dir/user")" "$(tr '\n' ' ' <"$dir/missing")" $status "$1" "$out" "$2" "$log" "$3"
    fi
}
path=$PATH
echo 0 >"$dir/user"
: >"$dir/missing"
expect 0 '' ''
expect 0 '' '' --check

printf 'libjansson-dev\ngraphviz\n' >"$dir/missing"
expect 0 'setup: installing libjansson-dev graphviz' 'apt-get update
apt-get install -y --no-install-recommends libjansson-dev graphviz'
expect 0 '' '' # they are there now

# What only the tests need is not installed for a demonstration.
echo universal-ctags >"$dir/missing"
expect 0 '' ''
expect 0 'setup: installing universal-ctags' 'apt-get update
apt-get install -y --no-install-recommends universal-ctags' --check

echo ninja-build >"$dir/missing"
touch "$dir/broken"
expect 1 "setup: installing ninja-build*E: no network*setup: 'apt-get update' failed*" 'apt-get update'
rm "$dir/broken"

# Not root: with sudo, and without.
echo 1000 >"$dir/user"
command_is sudo 'echo "sudo $1 $2 $3" >>"$dir/log"; exec "$@"'
expect 0 'setup: installing ninja-build' 'sudo env DEBIAN_FRONTEND=noninteractive apt-get
apt-get update
sudo env DEBIAN_FRONTEND=noninteractive apt-get
apt-get install -y --no-install-recommends ninja-build'
echo ninja-build >"$dir/missing"
rm "$dir/bin/sudo"
mkdir "$dir/plain"
for tool in sh cat grep head mktemp rm tail cc gcc env; do
    ln -s "$(command -v $tool)" "$dir/plain/$tool"
done
path=$dir/plain
expect 1 'setup: these packages are missing, and this is neither root nor is there sudo*ninja-build*' ''

# Not Debian.
rm "$dir/bin/dpkg-query"
expect 0 'setup: this is not Debian*' ''

[ $failures = 0 ] && echo 'setup: passed'
[ $failures = 0 ]
