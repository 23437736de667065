#!/usr/bin/env bash
# The command-line tool: texts, errors and their exit statuses, and programs on several nodes.
# Usage: cli_test.sh PATH-OF-TACIT [MPI: openmpi, mpich, other or none]
set -u
tacit=$1
mpi=${2:-none}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
checks=0

# expect STATUS PATTERN COMMAND...: the exit status, and an extended regular expression that the output (both streams) matches
# (empty: any output, or none).
expect()
{
    local status=$1 pattern=$2 got
    shift 2
    "$@" >"$dir/out" 2>&1 </dev/null
    got=$?
    checks=$((checks + 1))
    if [ "$got" != "$status" ] || { [ -n "$pattern" ] && ! grep -Eq -e "$pattern" "$dir/out"; }; then
        failures=$((failures + 1))
        printf 'FAILED: %s\n  exit status %s, expected %s; expected output: %s; output:\n' "$*" "$got" "$status" "$pattern"
        sed 's/^/    /' "$dir/out"
    fi
}

# Texts.
expect 0 '^Usage: tacit run' "$tacit" --help
expect 0 '^Usage: tacit run' "$tacit" help
expect 0 '^tacit [0-9]+\.[0-9]+\.[0-9]+ \(MPI: ' "$tacit" --version
expect 0 'TACIT_WORKERS' "$tacit" help settings
expect 0 '^\| `TACIT_RUN_AHEAD` \|' "$tacit" help settings --markdown
expect 0 '--dry-launch' "$tacit" run --help
expect 0 'TACIT_HORIZON_STEP' "$tacit" run --help
expect 0 '^Usage: tacit run -?' "$tacit" help run
expect 0 '^Usage: tacit bench' "$tacit" bench --help
expect 0 '^messages ' "$tacit" bench --list

# Wrong use: status 2 and a sentence.
expect 2 '^Usage:' "$tacit"
expect 2 "no command 'walk'" "$tacit" walk
expect 2 "no help about 'moon'" "$tacit" help moon
expect 2 'no program is given' "$tacit" run
expect 2 'no program is given' "$tacit" run -n 2
for n in 0 -1 x 2x '' 99999999999999999999; do
    expect 2 "whole number from 1 on" "$tacit" run -n "$n" true
done
expect 2 'invalid option' "$tacit" run -x true
expect 2 'requires an argument' "$tacit" run -n
expect 2 "no launcher 'rocket'" "$tacit" run -n 2 --launcher rocket true
expect 2 "no benchmark 'sleep'" "$tacit" bench sleep
expect 2 '^Usage: tacit bench' "$tacit" bench

# Programs that are not there, or are none.
touch "$dir/text"
expect 127 "there is no program $dir/none" "$tacit" run "$dir/none"
expect 127 'is not in PATH' "$tacit" run surely-there-is-no-such-program
expect 126 'not an executable file' "$tacit" run "$dir/text"
expect 126 'not an executable file' "$tacit" run "$dir"

# One node: arguments, streams and the exit status pass through.
expect 7 '^a b\|--help$' "$tacit" run sh -c 'echo "$1|$2"; exit 7' x 'a b' --help
expect 143 '' "$tacit" run bash -c 'kill -TERM $$'
printf '%s\n' "\"\$1\" run --dry-launch sh -c \"printf '<%s>' \\\"\\\$@\\\"\" x \"it's\" '' 'a  b' | sh" >"$dir/dry"
expect 0 "^<it's><><a  b>$" sh "$dir/dry" "$tacit" # what is printed can be given to a shell

# No launcher to be found.
mkdir "$dir/empty"
expect 1 'install openmpi-bin or mpich' env PATH="$dir/empty" "$tacit" run -n 2 /bin/sh -c true
expect 1 'launcher of MPICH was not found: install mpich' env PATH="$dir/empty" "$tacit" run -n 2 --launcher mpich /bin/sh -c true

# Inside Slurm, srun is preferred. What it would be given is all that can be checked without one.
mkdir "$dir/slurm"
printf '#!/bin/sh\n' >"$dir/slurm/srun"
chmod +x "$dir/slurm/srun"
expect 0 "^$dir/slurm/srun -n 3 " env SLURM_JOB_ID=1 PATH="$dir/slurm:$PATH" "$tacit" run -n 3 --dry-launch true

# Several nodes, with the launchers that are here.
cat >"$dir/rank" <<'END'
#!/bin/sh
echo "node ${OMPI_COMM_WORLD_RANK-$PMI_RANK} of ${OMPI_COMM_WORLD_SIZE-$PMI_SIZE}: $*"
exit $((${OMPI_COMM_WORLD_RANK-$PMI_RANK} == 1 ? FAIL : 0))
END
chmod +x "$dir/rank"
several_nodes()
{
    export FAIL=0
    expect 0 'node 0 of 3: a b' "$tacit" run -n 3 "$@" "$dir/rank" a b
    for node in 0 1 2; do
        checks=$((checks + 1))
        if [ "$(grep -c "^node $node of 3: a b$" "$dir/out")" != 1 ]; then
            failures=$((failures + 1))
            echo "FAILED: node $node does not appear once with $*"
        fi
    done
    export FAIL=5
    expect 5 'node 1 of 3' "$tacit" run -n 3 "$@" "$dir/rank"
    export FAIL=0
    expect 0 "-n 3 .*$dir/rank 'a  b'" "$tacit" run -n 3 --dry-launch "$@" "$dir/rank" 'a  b'
}
unset SLURM_JOB_ID
command -v mpirun.openmpi >/dev/null && several_nodes --launcher openmpi
command -v mpiexec.mpich >/dev/null && several_nodes --launcher mpich
case $mpi in
openmpi) expect 0 'mpirun|orterun' "$tacit" run -n 2 --dry-launch /bin/sh ;;
mpich) expect 0 'mpiexec' "$tacit" run -n 2 --dry-launch /bin/sh ;;
esac

echo "$checks checks, $failures failed"
[ "$failures" = 0 ]
