# The sources of the library, by folder, from the bottom up. Explicit: a file that is not named here is an error.

set(TACIT_SOURCES
    base/alloc.c
    base/arena.c
    base/check.c
    base/config.c
    base/failure.c
    base/handle.c
    base/log.c
    base/machine.c
    base/map.c
    base/park.c
    base/sort.c
    base/strbuf.c

    grid/box.c
    grid/box_sort.c
    grid/distribution.c
    grid/layout.c
    grid/mapper.c
    grid/region.c
    grid/region_map.c
    grid/region_map_query.c
    grid/region_sweep.c
    grid/split.c

    ir/block_tree.c
    ir/collective.c
    ir/custom.c
    ir/reduction.c
    ir/submission.c

    comm/comm_local.c
    comm/local_reduce.c
    comm/comm_self.c
    comm/exchange.c

    device/bounds_check.c
    device/bounds_report.c
    device/bounds_subject.c
    device/device_host.c
    device/fault.c
    device/guarded.c
    device/host_cores.c
    device/meeting.c

    trace/dot.c
    trace/explain.c
    trace/explain_reason.c
    trace/timeline.c

    plan/budget.c
    plan/coherence.c
    plan/command_graph.c
    plan/command_reduce.c
    plan/command_replay.c
    plan/command_window.c
    plan/deps.c
    plan/holder.c
    plan/discovery.c
    plan/edge.c
    plan/forward.c
    plan/producer.c
    plan/command_forward.c
    plan/horizon.c
    plan/instruction_blocks.c
    plan/instruction_coherence.c
    plan/instruction_collective.c
    plan/instruction_follow.c
    plan/instruction_graph.c
    plan/instruction_kernel.c
    plan/instruction_reduce.c
    plan/instruction_refuse.c
    plan/instruction_transfer.c
    plan/instruction_window.c
    plan/memory.c
    plan/order.c
    plan/task_graph.c
    plan/tracker.c
    plan/tracker_note.c
    plan/tracker_query.c
    plan/replay.c
    plan/transfer.c
    plan/version.c

    exec/allocation_table.c
    exec/block_run.c
    exec/collective_issue.c
    exec/dry.c
    exec/engine.c
    exec/executor.c

    run/agreement.c
    run/dry_run.c
    run/graph_files.c
    run/memory_limit.c
    run/runtime.c
    run/scheduler.c
    run/watchdog.c

    api/api_buffer.c
    api/api_context.c
    api/api_owners.c
    api/api_fence.c
    api/api_mapper.c
    api/api_mpi.c
    api/api_object.c
    api/api_op.c
    api/api_submit.c
    api/api_view.c
    api/check_overlap.c
    api/check_task.c
    api/recall.c
)
set(mpi_sources comm/comm_mpi.c comm/mpi_collective.c comm/mpi_grid.c comm/mpi_guard.c comm/mpi_measure.c comm/mpi_note.c comm/mpi_packed.c comm/mpi_reduce.c comm/mpi_start.c comm/mpi_type.c comm/parcel.c)
set(no_mpi_sources comm/comm_none.c)
if(TACIT_WITH_MPI)
    list(APPEND TACIT_SOURCES ${mpi_sources})
else()
    list(APPEND TACIT_SOURCES ${no_mpi_sources})
endif()

# tacit_list(out folder pattern [STRICT] names... [OTHER names...]) sets `out` to the paths below `folder` of the files that are named. A
# file that is named and not there, or there (it matches `pattern`) and neither named nor OTHER, is an error with STRICT. Without, the
# first is left out and the second taken along, both with a warning.
function(tacit_list out folder pattern)
    cmake_parse_arguments(PARSE_ARGV 3 list "STRICT" "" "OTHER")
    set(severity WARNING)
    if(list_STRICT)
        set(severity SEND_ERROR)
    endif()
    set(named ${list_UNPARSED_ARGUMENTS})
    set(found ${named})
    set(missing)
    file(GLOB_RECURSE present RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/${pattern})
    foreach(name IN LISTS named)
        if(NOT EXISTS ${folder}/${name})
            list(REMOVE_ITEM found ${name})
            list(APPEND missing ${name})
        endif()
    endforeach()
    list(REMOVE_ITEM present "" ${named} ${list_OTHER})
    list(APPEND found ${present})
    if(missing)
        string(REPLACE ";" " " missing "${missing}")
        message(${severity} "listed, but not in ${folder}: ${missing}. Write them, or take them off the list.")
    endif()
    if(present)
        string(REPLACE ";" " " present "${present}")
        message(${severity} "in ${folder}, but not listed: ${present}. Add them to the list (cmake/sources.cmake for src/, else "
                            "the folder's CMakeLists.txt), or remove them.")
    endif()
    list(TRANSFORM found PREPEND ${folder}/)
    set(${out} ${found} PARENT_SCOPE)
endfunction()
tacit_list(TACIT_SOURCES ${PROJECT_SOURCE_DIR}/src "*.c" STRICT ${TACIT_SOURCES} OTHER ${mpi_sources} ${no_mpi_sources})

# All of include/tacit/ is public.
file(GLOB TACIT_PUBLIC_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tacit/*.h)
