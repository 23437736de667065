#!/usr/bin/env bash
# Whichever call of MPI fails, on whichever of two nodes: the job ends on both within seconds, and says which call it was and what MPI says.
# Usage: mpi_failing_test.sh TACIT MPI_FAILING SRC/COMM [--all]     --all: every call of each function, or 40 of those that are made more often
set -u
tacit=$1 program=$2 sources=$3 all=${4-} runs=0
dir=$(mktemp -d)
log=$dir/log counts=$dir/counts
trap 'rm -rf "$dir"' EXIT
export TACIT_LOCAL_MESSAGES=mpi # all messages are MPI's

fail()
{
    echo "FAILED: $*"
    sed 's/^/    /' "$log"
    touch "$dir/failed"
}

# Three at a time: launchers mostly wait when a job ends in an error.
check()
{
    while [ "$(jobs -rp | wc -l)" -ge 3 ]; do
        wait -n
    done
    runs=$((runs + 1))
    log=$dir/log.$runs
    check_one "$@" &
}

# The sentence has the name of the function and MPI's text of MPI_ERR_OTHER.
check_one()
{
    local function=${1%/*} start=$SECONDS
    timeout -k 5 60 "$tacit" run -n "${nodes-2}" "$program" "$@" </dev/null >"$log" 2>&1
    local status=$?
    [ $status = 124 ] && fail "$*: the job does not end"
    [ $status = 0 ] && fail "$*: the job says that all is well"
    [ $((SECONDS - start)) -gt 30 ] && fail "$*: took $((SECONDS - start)) s"
    local text='MPI_ERR_OTHER|Other MPI error'
    case $function in
        MPI_Initialized | MPI_Finalized | MPI_Init_thread | MPI_Finalize) text="$text|MPI error [0-9]+" ;; # MPI may be down
    esac
    local sentence="$function( \\(.*\\))? failed: .*($text)"
    if [ "$function" = MPI_Type_get_attr ]; then # inside an operator, which cannot report an error
        sentence='MPI does not know the operator of a reduction any more \(MPI_Type_get_attr\)'
    fi
    grep -Eq "$sentence" "$log" ||
        fail "$*: no sentence with the call and the text of MPI"
}

# Which of `count` calls fail: first and last; polling goes on as long as it takes, and nodes exchange notes now and then, so that of
# these only early ones are sure to be made.
calls_of()
{
    local function=$1 count=$2
    case $function in
        MPI_Test | MPI_Testsome) echo 1 2 7 ;;
        MPI_Testsome/status) echo 1 3 ;;
        MPI_Isend | MPI_Issend | MPI_Irecv | MPI_Get_*) [ "$all" ] && seq 1 $(((count + 39) / 40)) $((count / 2)) || echo 1 $(((count + 1) / 2)) ;;
        *)
            if [ "$all" ]; then
                seq 1 $(((count + 39) / 40)) "$count"
            else
                printf '%s\n' 1 "$count" | sort -un
            fi
            ;;
    esac
}

timeout 60 "$tacit" run -n 2 "$program" >"$counts" 2>"$log" || fail "the program does not run"
# Nothing that tacit calls may be missing, but the texts of errors, what only programs with an MPI of their own need, and what two contexts need
# that come to the same point at once.
others=' MPI_Error_class MPI_Error_string MPI_Comm_test_inter MPI_Intercomm_merge MPI_Is_thread_main MPI_Type_free_keyval '
for function in $(find "$sources" -name "*.c" -exec cat {} + | grep -oE '\bMPI_[A-Z][a-z]+[a-z_]*( ?\(|,)' | tr -d ' (,' | sort -u); do
    grep -q " $function " "$counts" || [[ $others = *" $function "* ]] || fail "$function is not among the functions that fail"
done
declare -A seen
while read -r _ rank function count; do
    rank=${rank%:}
    # Each call fails on one of the nodes at least; with --all on both.
    if [ "$count" = 0 ] || { [ ! "$all" ] && [ "${seen[$function]-}" ]; }; then
        continue
    fi
    seen[$function]=1
    for n in $(calls_of "$function" "$count"); do
        check "$function" "$n" "$rank"
    done
done < <(sort -k3,3 -k4,4nr "$counts")
check MPI_Isend 1 0 abort
TACIT_BROADCAST=chain TACIT_WORKERS=2 nodes=3 check MPI_Wait 1 1 # when relays end
for function in MPI_Ibcast MPI_Isend MPI_Iallreduce; do # while collectives are measured
    TACIT_COLLECTIVE_SCHEDULE=measure check $function 1 1
done
for rank in 0 3; do # communicators of rows and columns, of which two nodes have none
    nodes=4 TACIT_COLLECTIVE_SCHEDULE=mpi check MPI_Comm_split "$((rank % 2 + 1))" "$rank"
done
nodes=4 TACIT_COLLECTIVE_SCHEDULE=mpi check MPI_Comm_free 2 1
nodes=3 TACIT_COLLECTIVE_SCHEDULE=packed check MPI_Ialltoall 1 1 # which two nodes do without
wait
[ "$runs" -gt 40 ] || fail "too few calls of MPI were made"
[ ! -e "$dir/failed" ] && echo "mpi_failing: passed, $runs calls failed"
