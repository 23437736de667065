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

# A launcher of Slurm that has one node, whatever is asked for.
mkdir "$dir/slurm"
printf '#!/bin/sh\nshift 2\nwhile case $1 in -*) ;; *) false ;; esac; do shift; done\nexec "$@"\n' >"$dir/slurm/srun"
chmod +x "$dir/slurm/srun"

# Also that the output of the last command is JSON, where there is something to tell.
expect_json()
{
    expect "$@"
    if command -v python3 >/dev/null && ! python3 -m json.tool "$dir/out" >/dev/null; then
        failures=$((failures + 1))
        echo "FAILED: $*: this is no JSON"
        sed 's/^/    /' "$dir/out"
    fi
}

# expect_files FOLDER NAME...: exactly these files.
expect_files()
{
    local folder=$1
    shift
    checks=$((checks + 1))
    if [ "$(ls -A "$folder")" != "$(printf '%s\n' "$@" | sort)" ]; then
        failures=$((failures + 1))
        echo "FAILED: $folder contains: $(ls -A "$folder" | tr '\n' ' ')and not: $*"
    fi
}
export LC_ALL=C
for name in $(compgen -e TACIT_); do
    unset "$name"
done

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
for command in graph plan explain trace info; do
    expect 0 "^Usage: tacit $command " "$tacit" help $command
    expect 0 "^Usage: tacit $command " "$tacit" $command --help
done
expect 0 '^Usage: tacit help settings' "$tacit" help settings --help
has_json=yes
"$tacit" help settings --json >"$dir/out" 2>&1 || has_json=no
if [ $has_json = yes ]; then
    expect_json 0 '"TACIT_WORKERS"' "$tacit" help settings --json
    expect_json 0 '"messages"' "$tacit" bench --list --json
    expect_json 0 '"version": "[0-9]+\.' "$tacit" info --json
    expect_json 0 '"source": "environment"' env TACIT_WORKERS=3 "$tacit" info --json
    expect_json 1 '"settings_problem": "TACIT_WORKERS is' env TACIT_WORKERS=x "$tacit" info --json
else
    expect 1 'built without jansson' "$tacit" info --json
    expect 1 'built without jansson' "$tacit" graph --json true
fi

# What is here, and how it is set.
expect 0 '^  TACIT_RUN_AHEAD +8 \(default\)$' "$tacit" info
expect 0 '^  TACIT_RUN_AHEAD +12 \(environment\)$' env TACIT_RUN_AHEAD=12 "$tacit" info
expect 0 '^  devices .*[^0-9]3 workers' env TACIT_WORKERS=3 "$tacit" info
expect 0 '^  devices +2 host, 1 worker each, memories of their own$' env TACIT_WORKERS=2 TACIT_HOST_DEVICES=2:discrete "$tacit" info
expect 0 '^  cores +1$' taskset -c "$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')" "$tacit" info
expect 0 "^  srun +$dir/slurm/srun$" env PATH="$dir/slurm:$PATH" "$tacit" info
expect 1 'TACIT_WORKERS is .0., but must be 1\.\.4096' env TACIT_WORKERS=0 "$tacit" info
expect 1 'did you mean TACIT_WORKERS' env TACIT_WORKER=1 "$tacit" info
expect 1 'TACIT_EARLY_BYTES is .1000., but must be 1024 bytes' env TACIT_EARLY_BYTES=1000 "$tacit" info
for devices in ' 4' '+4' '4 ' '2 :discrete' ' 2:discrete' -1 0x2; do
    expect 1 "TACIT_HOST_DEVICES is '.*', but must be 1 to 32" env TACIT_HOST_DEVICES="$devices" "$tacit" info
done
for window in 7 ' 1:2' '1: 2' -1:2 +1:2; do
    expect 1 'must be first:last' env TACIT_GRAPH_TASKS="$window" "$tacit" info
done
mkdir -p "$dir/alone/bin"
cp "$tacit" "$dir/alone/bin/"
if "$tacit" info | grep -q '^  libtacit .*\.so'; then
    expect 1 'libtacit\.so\.0 is not there' "$dir/alone/bin/tacit" info
fi
case $mpi in
openmpi) expect 0 '^  MPI +Open MPI v' "$tacit" info ;;
mpich) expect 0 '^  MPI +MPICH' "$tacit" info ;;
none) expect 0 '^  MPI +none: programs run on one node' "$tacit" info ;;
esac

# Wrong use: status 2 and a sentence.
expect 2 '^Usage:' "$tacit"
expect 2 "no command 'walk'" "$tacit" walk
expect 2 "no command 'pln'; did you mean 'plan'" "$tacit" pln --nodes 4 true
expect 2 "no command 'hepl'; did you mean 'help'" "$tacit" hepl
expect 2 "no help about 'setings'; did you mean 'settings'" "$tacit" help setings
expect 2 "no benchmark 'mesages'; did you mean 'messages'" "$tacit" bench mesages
expect 2 "did you mean '--list'" "$tacit" bench --lsit
expect 2 "there is about run, graph, plan, simulate, explain, trace, info, bench and settings" "$tacit" help xyzzy
expect 2 "did you mean '--json'" "$tacit" plan --jsn true
expect 2 "did you mean '--output'" "$tacit" graph --ouptut=x true
expect 2 "did you mean '--nodes'" "$tacit" explain --ndoes 4 true
expect 2 "did you mean '--dry-launch'" "$tacit" run --dry-lunch true
expect 2 "did you mean '--json'" "$tacit" info --josn
expect 2 '^tacit: see .tacit plan --help' "$tacit" plan --surely-no-option true
expect 2 "no help about 'moon'" "$tacit" help moon
expect 2 'no program is given' "$tacit" run
expect 2 'no program is given' "$tacit" run -n 2
for n in 0 -1 x 2x '' 99999999999999999999; do
    expect 2 "whole number from 1 on" "$tacit" run -n "$n" true
done
expect 2 'invalid option' "$tacit" run -x true
expect 2 'requires an argument' "$tacit" run -n
expect 2 "no launcher 'rocket'" "$tacit" run -n 2 --launcher rocket true
expect 2 "takes no argument, but 'x' is one" "$tacit" info x
expect 2 'unrecognized option' "$tacit" info --xml
expect 2 "no option '--xml'" "$tacit" help settings --xml
expect 2 'no program is given' "$tacit" graph
expect 2 "whole number from 1 on" "$tacit" graph -n 0 true
expect 2 'no launcher .rocket.' "$tacit" graph --output "$dir" --launcher rocket true
for window in 5 5:5 6:5 a:b 1:2x ''; do
    expect 2 'must be FIRST:LAST' "$tacit" graph --tasks "$window" true
done
for node in -1 x ''; do
    expect 2 'must be the number of a node' "$tacit" graph --node "$node" true
done
expect 2 'no node 2 in a run of 2' "$tacit" graph -n 2 --node 2 true
expect 2 'no node 1 in a run of 1' "$tacit" graph --node 1 true
expect 2 "no benchmark 'sleep'" "$tacit" bench sleep
expect 2 '^Usage: tacit bench' "$tacit" bench

# Programs that are not there, or are none.
touch "$dir/text"
for command in run plan simulate explain graph trace; do # all say it alike
    expect 127 "there is no program $dir/none" "$tacit" $command "$dir/none"
done
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

# A launcher whose nodes have all ended and that does not notice; one that ends by a signal; signals that are passed on.
mkdir "$dir/stuck"
printf '#!/bin/sh\nsh -c "exit 3" &\nsh -c "exit 3" &\nexec sleep 100\n' >"$dir/stuck/mpirun.openmpi"
chmod +x "$dir/stuck/mpirun.openmpi"
expect 3 'did not end within 10 s after all nodes had ended' env PATH="$dir/stuck:$PATH" timeout 50 "$tacit" run -n 2 --launcher openmpi true
printf '#!/bin/sh\nkill -KILL $$\n' >"$dir/stuck/mpirun.openmpi"
expect 137 '' env PATH="$dir/stuck:$PATH" "$tacit" run -n 2 --launcher openmpi true
printf '#!/bin/sh\ntrap "echo one" USR1\ntrap "echo end; exit 9" TERM\nkill -USR1 $PPID\nsleep 0.5\nkill -TERM $PPID\nsleep 5\n' >"$dir/stuck/mpirun.openmpi"
expect 143 '^one$' env PATH="$dir/stuck:$PATH" "$tacit" run -n 2 --launcher openmpi true

# Every job of Open MPI has a folder for temporary files, which goes with it whatever is left there, unless the user names one.
printf '#!/bin/sh\necho "in ${base=$OMPI_MCA_orte_tmpdir_base}"\n[ "$base" ] && mkdir "$base/left" || exit 4\n%s\n' \
    'touch "$OMPI_MCA_orte_tmpdir_base/left/file"' >"$dir/stuck/mpirun.openmpi"
mkdir "$dir/jobs" "$dir/mine"
in_folder() { env PATH="$dir/stuck:$PATH" TMPDIR="$dir/jobs" "$@" "$tacit" run -n 2 --launcher openmpi true; }
expect 0 "^in $dir/jobs/tacit-" in_folder
expect 4 "^in $" in_folder OMPI_MCA_orte_local_tmpdir_base=/tmp
expect 0 "^in $dir/mine$" in_folder OMPI_MCA_orte_tmpdir_base="$dir/mine"
expect 1 '' rmdir "$dir/mine/left"
expect 0 '' rmdir "$dir/jobs" # it is empty

# Inside Slurm, srun is preferred. What it is given; tools/slurm-try runs it.
in_slurm() { env SLURM_JOB_ID=1 PATH="$dir/slurm:$PATH" "$@" "$tacit" run -n 3 --dry-launch true; }
expect 0 "^$dir/slurm/srun -n 3 --kill-on-bad-exit=1 .*true$" in_slurm
expect 0 "^$dir/slurm/srun -n 3 --cpus-per-task=4 --kill-on-bad-exit=1 " in_slurm SLURM_CPUS_PER_TASK=4
expect 0 "^$dir/slurm/srun -n 3 --kill-on-bad-exit=1 " in_slurm SLURM_CPUS_PER_TASK=4 SRUN_CPUS_PER_TASK=2
expect 0 "^$dir/slurm/srun -n 3 [^ ]*true$" in_slurm SLURM_KILL_BAD_EXIT=0

# Several nodes, with the launchers that are here.
# Node 0 reads its input to the end: MPICH's launcher may die of a broken pipe if it cannot get rid of it.
cat >"$dir/rank" <<'END'
#!/bin/sh
node=${OMPI_COMM_WORLD_RANK-$PMI_RANK}
[ "$node" = 0 ] && cat >/dev/null
echo "node $node of ${OMPI_COMM_WORLD_SIZE-$PMI_SIZE}: $*"
exit $((node == 1 ? FAIL : 0))
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

if command -v mpirun.openmpi >/dev/null; then
    expect 0 ' -x TACIT_LOG .*/true$' env TACIT_LOG=info "$tacit" run -n 2 --launcher openmpi --dry-launch true
fi

# Graphs. Any program can write what tacit_finalize writes: this one has as many vertices as it is told, in every graph.
cat >"$dir/drawing" <<'END'
#!/bin/sh
for graph in task command.0 instruction.0; do
    {
        echo 'digraph tacit {'
        seq 1 "$1" | sed 's/.*/  v& [shape=box, label="T& tick"];\n  v1 -> v&;/'
        echo '}'
    } >"$TACIT_GRAPH.$graph.dot"
done
echo "drawn with ${TACIT_GRAPH_TASKS-all}"
exit ${2-0}
END
chmod +x "$dir/drawing"
all_dots='drawing.command.0.dot drawing.instruction.0.dot drawing.task.dot'
all_svgs='drawing.command.0.svg drawing.instruction.0.svg drawing.task.svg'
# graph NAME STATUS PATTERN ARGUMENTS...: into the folder NAME
graph()
{
    local folder=$dir/$1 status=$2 pattern=$3
    shift 3
    expect "$status" "$pattern" "$tacit" graph --output "$folder" "$@"
}
if command -v dot >/dev/null; then
    graph drawn 0 '/drawing\.task\.dot \(3 vertices\)$' "$dir/drawing" 3
    expect_files "$dir/drawn" $all_dots $all_svgs
    graph drawn 0 'drawn with 5:7$' --tasks 5:7 "$dir/drawing" 1
    graph drawn 5 'drawing ended with status 5, so its graphs may not be complete' "$dir/drawing" 3 5
    expect_files "$dir/drawn" $all_dots $all_svgs
    graph drawn 0 'has 2001 vertices and is not drawn.*choose a part with --tasks' "$dir/drawing" 2001
    expect_files "$dir/drawn" $all_dots # pictures of the run before are gone
    PATH=$dir/slurm:$PATH graph drawn 1 'the graphs of node 1 are not in ' --all -n 2 --launcher srun "$dir/drawing" 3
fi
mkdir "$dir/tools"
ln -s "$(command -v sh)" "$(command -v seq)" "$(command -v sed)" "$dir/tools/"
expect 0 "dot was not found.*install graphviz" env PATH="$dir/tools" "$tacit" graph --output "$dir/plain" "$dir/drawing" 3
expect_files "$dir/plain" $all_dots
printf '#!/bin/sh\nexit 1\n' >"$dir/tools/dot"
chmod +x "$dir/tools/dot"
expect 0 'could not draw .*/drawing\.task\.dot; the DOT file is kept' env PATH="$dir/tools" "$tacit" graph --output "$dir/plain" "$dir/drawing" 3
expect_files "$dir/plain" $all_dots
graph none 1 'drawing submitted no tasks' "$dir/drawing" 0
graph none 1 'no task of drawing has a number in 5:7; leave out --tasks' --tasks 5:7 "$dir/drawing" 0
graph none 1 'true wrote no graphs: it is no program of tacit' true
graph none 3 'sh ended with status 3 before it wrote its graphs' sh -c 'exit 3'
graph none 139 'sh ended with status 139 before' sh -c 'kill -SEGV $$'
graph none 127 "there is no program $dir/nothing" "$dir/nothing"
graph none 126 'is not an executable file' "$dir/text"
graph text 1 'nothing can be written to .*Not a directory; choose another directory with --output' true
graph none/a/b 1 'the directory .* cannot be made' true
checks=$((checks + 1))
if [ -n "$(ls -A "$dir/none")" ]; then
    failures=$((failures + 1))
    echo "FAILED: graphs that failed left something behind: $(ls -A "$dir/none")"
fi
if [ $has_json = yes ]; then
    expect 0 '"vertices": 3,' sh -c '"$1" graph --json --output "$2" "$3" 3 2>/dev/null' x "$tacit" "$dir/plain" "$dir/drawing"
    expect_json 0 '"exit_status": 0' sh -c '"$1" graph --json --output "$2" "$3" 3 2>/dev/null' x "$tacit" "$dir/plain" "$dir/drawing"
fi

# And what a program of tacit draws, if there is one beside the tool.
hello=$(dirname "$tacit")/hello
if [ -x "$hello" ]; then
    graph hello 0 'hello\.instruction\.0\.dot \([0-9]+ vertices\)' "$hello"
    if [ "$mpi" != none ]; then
        # Open MPI is not clean (tests/CMakeLists.txt).
        ASAN_OPTIONS=detect_leaks=0 graph hello 0 'hello\.instruction\.1\.dot \([0-9]+ vertices\)' -n 2 --all "$hello"
    fi
fi

# Plans of runs on other numbers of nodes.
expect 2 'no program is given' "$tacit" plan
expect 2 "invalid option|see .tacit plan" "$tacit" plan -x true
for list in '' 0 4, 4,x 200000000; do
    expect 2 'numbers from 1 to 100000000' "$tacit" plan --nodes "$list" true
    expect 2 'numbers from 1 to 100000000' "$tacit" plan true --nodes "$list"
done
expect 127 'there is no program .*nothing' "$tacit" plan "$dir/nothing"
jacobi=$(dirname "$tacit")/jacobi
if [ $has_json = yes ]; then
    expect 1 'wrote no report as node 0 of 4: it is no program of tacit' "$tacit" plan true
    if [ -x "$jacobi" ]; then
        # A stencil has two neighbours, whatever the number of nodes.
        expect 0 '^ +3 .* 2 +1\.[0-9]+ ' "$tacit" plan --nodes 3,1000 "$jacobi" --rows 3000 --cols 50 --steps 10
        expect 5 'ended with status 5 when it was planned on 3 nodes' "$tacit" plan --nodes 2,3 sh -c '"$0" --steps 10; [ ${TACIT_DRY_RUN#3} = "$TACIT_DRY_RUN" ] || exit 5' "$jacobi"
        expect_json 0 '"peers": 2,' "$tacit" plan --json "$jacobi" --nodes=3,1000 --rows 3000 --cols 50 --steps 10
        # Each node gives its 256 bodies of 24 bytes, and gets the other 768, in each of 4 steps; the fence is left out.
        expect 0 '^ +4 +[0-9.]+ +0 +4 +96\.0 KiB +0 ' "$tacit" plan --nodes 4 "$(dirname "$tacit")/nbody" --plummer 1024 --steps 4
        expect 1 'submitted no tasks' "$tacit" plan "$jacobi" --rows none
    fi
else
    expect 1 'built without jansson' "$tacit" plan true
fi

# Programs that only communicate, measured by their own launch and inside another one.
if [ "$mpi" != none ] && [ -x "$(dirname "$tacit")/../libexec/tacit-bench-comm" ]; then
    expect 0 'by hand .* tacit .* collectives' env ASAN_OPTIONS=detect_leaks=0 "$tacit" bench comm --pattern all-gather --bytes 8 --iterations 3
    expect_json 0 '"collectives"' env ASAN_OPTIONS=detect_leaks=0 "$tacit" run -n 2 "$tacit" bench comm --pattern nbody --bytes 64 --iterations 3 --json
    expect_json 0 '"beside_kernel"' env ASAN_OPTIONS=detect_leaks=0 TACIT_LOG=error "$tacit" bench overlap --pattern stencil --bytes 64 --compute 1 --json
    expect_json 0 '"shared_versions": 15' env ASAN_OPTIONS=detect_leaks=0 "$tacit" run -n 3 "$tacit" bench broadcast --bytes 64 --algorithm chain --compute 20 --json
    expect_json 0 '"MPI_Ibcast"' env ASAN_OPTIONS=detect_leaks=0 "$tacit" bench broadcast --bytes 5000 --algorithm flat,MPI_Bcast,MPI_Ibcast --progress inline --json
    expect_json 0 '"planned-chain"' env ASAN_OPTIONS=detect_leaks=0 "$tacit" run -n 3 "$tacit" bench broadcast --bytes 8,70000 --algorithm naive,planned-chain,auto,MPI_Bcast --seconds 0.2 --json
    expect 1 'usage: .* bench broadcast' env ASAN_OPTIONS=detect_leaks=0 "$tacit" run -n 2 "$tacit" bench broadcast --algorithm tree
    expect 1 'needs more nodes' env ASAN_OPTIONS=detect_leaks=0 "$tacit" run -n 2 "$tacit" bench broadcast --compute 20
    if [ -x "$(dirname "$tacit")/../libexec/tacit-peer-openmp" ]; then
        expect_json 0 '"by_hand": "OpenMP"' env ASAN_OPTIONS=detect_leaks=0 "$tacit" bench steps --only points --sizes 1 --pairs 3 --json
    fi
    expect 1 'usage: .* bench steps' "$tacit" bench steps --only nothing
    expect 1 'usage: .* bench steps' "$tacit" bench steps --pairs 2
    expect 1 'usage: .* bench overlap' env ASAN_OPTIONS=detect_leaks=0 "$tacit" run -n 2 "$tacit" bench overlap --pattern stencil --compute -1
fi

# Explanations: what is said is looked at by explain_test.py.
expect 2 'no program is given' "$tacit" explain
expect 2 'see .tacit explain' "$tacit" explain -x true
for nodes in '' 0 4: 4:4 4:-1 x 4,5; do
    expect 2 'must be NODES or NODES:NODE' "$tacit" explain --nodes "$nodes" true
done
expect 127 'there is no program .*nothing' "$tacit" explain "$dir/nothing"
expect 1 'wrote no report: it is no program of tacit' "$tacit" explain true

echo "$checks checks, $failures failed"
[ "$failures" = 0 ]
