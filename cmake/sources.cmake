# The sources of the library, by folder, from the bottom up. Explicit: a file that is not named here is not built.

set(TACIT_SOURCES
    base/alloc.c
    base/arena.c
    base/check.c
    base/config.c
    base/failure.c
    base/log.c
    base/map.c
    base/park.c
    base/strbuf.c

    grid/box.c
    grid/box_sort.c
    grid/layout.c
    grid/mapper.c
    grid/region.c
    grid/region_map.c
    grid/region_sweep.c
    grid/split.c

    ir/custom.c
    ir/reduction.c

    comm/comm_local.c
    comm/comm_self.c

    device/device_host.c
    device/host_cores.c

    trace/dot.c
    trace/timeline.c

    plan/coherence.c
    plan/command_graph.c
    plan/holder.c
    plan/horizon.c
    plan/instruction_coherence.c
    plan/instruction_graph.c
    plan/instruction_kernel.c
    plan/instruction_reduce.c
    plan/memory.c
    plan/task_graph.c
    plan/tracker.c
    plan/transfer.c
    plan/version.c

    exec/allocation_table.c
    exec/engine.c
    exec/executor.c

    run/runtime.c
    run/scheduler.c

    api/api_buffer.c
    api/api_context.c
    api/api_fence.c
    api/api_mapper.c
    api/api_submit.c
    api/api_view.c
    api/check_task.c
)
if(TACIT_WITH_MPI)
    list(APPEND TACIT_SOURCES comm/comm_mpi.c comm/mpi_type.c)
else()
    list(APPEND TACIT_SOURCES comm/comm_none.c)
endif()

# While the first release is being written: what is listed and not there yet is left out, what is there and not listed is
# taken along, both with a warning. tacit_list(out folder pattern names...) sets `out` to the paths below `folder`.
function(tacit_list out folder pattern)
    set(found)
    foreach(name IN LISTS ARGN)
        if(EXISTS ${folder}/${name})
            list(APPEND found ${name})
        else()
            message(WARNING "${folder}/${name} is listed, but does not exist yet")
        endif()
    endforeach()
    file(GLOB_RECURSE present RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/${pattern})
    foreach(name IN LISTS present)
        if(NOT name IN_LIST ARGN AND NOT name MATCHES "^comm/(comm_mpi|mpi_type|comm_none)\\.c$")
            message(WARNING "${folder}/${name} exists, but is not listed")
            list(APPEND found ${name})
        endif()
    endforeach()
    list(TRANSFORM found PREPEND ${folder}/)
    set(${out} ${found} PARENT_SCOPE)
endfunction()
tacit_list(TACIT_SOURCES ${PROJECT_SOURCE_DIR}/src "*.c" ${TACIT_SOURCES})

set(TACIT_PUBLIC_HEADERS ${PROJECT_SOURCE_DIR}/include/tacit/tacit.h)
