# The sources of the library, by folder, from the bottom up. Explicit: a file that is not named here is an error.

set(TACIT_SOURCES
    base/alloc.c
    base/arena.c
    base/check.c
    base/config.c
    base/cores.c
    base/crowd.c
    base/failure.c
    base/handle.c
    base/log.c
    base/machine.c
    base/map.c
    base/park.c
    base/shared.c
    base/sort.c
    base/strbuf.c

    grid/box.c
    grid/distribution.c
    grid/layout.c
    grid/mapper.c
    grid/margin.c
    grid/region.c
    grid/region_map.c
    grid/region_map_query.c
    grid/split.c
    grid/spread.c
    grid/tile.c
    grid/weights.c

    ir/block_tree.c
    ir/brief.c
    ir/collective.c
    ir/custom.c
    ir/reduction.c
    ir/submission.c

    comm/combining.c
    comm/delay.c
    comm/exchange.c
    comm/launched.c
    comm/near.c
    comm/parcel.c
    comm/payload.c
    comm/relay.c
    comm/self.c
    comm/tree.c

    device/cores.c
    device/host.c
    device/host_desk.c
    device/host_memory.c
    device/host_fork.c
    device/host_queue.c
    device/kernel_cache.c
    device/kernel_text.c
    device/length.c
    device/parts.c
    device/trial.c

    device/accelerator/accelerator.c
    device/accelerator/memories.c
    device/bounds/check.c
    device/bounds/fault.c
    device/bounds/guarded.c
    device/bounds/report.c
    device/bounds/subject.c
    device/cuda/copy.c
    device/cuda/device.c
    device/cuda/driver.c
    device/cuda/launch.c
    device/cuda/nccl.c
    device/cuda/prelude.c
    device/cuda/program.c
    device/cuda/session.c
    device/cuda/staging.c

    trace/advice.c
    trace/clock_sync.c
    trace/dot.c
    trace/explain.c
    trace/explain_overlap.c
    trace/explain_reason.c
    trace/explain_tile.c
    trace/explain_window.c
    trace/read.c
    trace/recorder.c

    plan/track/deps.c
    plan/track/loop.c
    plan/track/note.c
    plan/track/sent.c
    plan/track/state.c
    plan/track/tracker.c

    plan/task/anchor.c
    plan/task/cycle.c
    plan/task/forward.c
    plan/task/graph.c
    plan/task/horizon.c
    plan/task/producer.c

    plan/holder/copies.c
    plan/holder/holder.c
    plan/holder/interner.c

    plan/version/discovery.c
    plan/version/multicast.c
    plan/version/replay.c
    plan/version/transfer.c
    plan/version/version.c

    plan/tolerance/alone.c
    plan/tolerance/closure.c
    plan/tolerance/items.c
    plan/tolerance/margins.c
    plan/tolerance/overlap.c
    plan/tolerance/samples.c
    plan/tolerance/stages.c
    plan/tolerance/tiles.c

    plan/command/bundle.c
    plan/command/cut.c
    plan/command/emit.c
    plan/command/late.c
    plan/command/overlap.c
    plan/command/seen.c
    plan/command/shape.c
    plan/command/wide.c

    plan/transfer/anticipate.c
    plan/transfer/divide.c
    plan/transfer/edge.c
    plan/transfer/forward.c
    plan/transfer/multicast.c
    plan/transfer/placed.c
    plan/transfer/reduce.c
    plan/transfer/replay.c

    plan/lookahead/cycle.c
    plan/lookahead/graph.c
    plan/lookahead/plan.c
    plan/lookahead/pure.c
    plan/lookahead/stage.c
    plan/lookahead/tell.c
    plan/lookahead/window.c

    plan/memory/budget.c
    plan/memory/coherence.c
    plan/memory/memory.c

    plan/instruction/blocks.c
    plan/instruction/coherent_copies.c
    plan/instruction/collective.c
    plan/instruction/follow.c
    plan/instruction/keep.c
    plan/instruction/kernel.c
    plan/instruction/places.c
    plan/instruction/reduce.c
    plan/instruction/reduce_blocks.c
    plan/instruction/staging.c
    plan/instruction/template.c
    plan/instruction/transfer.c

    plan/stream/bundle.c
    plan/stream/cycle.c
    plan/stream/cycle_step.c
    plan/stream/graph.c
    plan/stream/implied.c
    plan/stream/point.c
    plan/stream/refuse.c
    plan/stream/spill.c
    plan/stream/tile.c
    plan/stream/window.c

    exec/allocation_table.c
    exec/block_run.c
    exec/busy.c
    exec/chain.c
    exec/collective_device.c
    exec/collective_issue.c
    exec/combine.c
    exec/combine_job.c
    exec/dry.c
    exec/dry_memory.c
    exec/engine.c
    exec/executor.c
    exec/round.c
    exec/round_choice.c
    exec/round_spread.c
    exec/host_threads.c
    exec/job.c
    exec/kernel_job.c
    exec/outbox.c
    exec/purity.c
    exec/trace.c
    exec/wait.c

    sim/cluster.c
    sim/complete.c
    sim/early.c
    sim/events.c
    sim/node.c
    sim/note.c
    sim/path.c
    sim/platform.c
    sim/progress.c
    sim/recorded.c
    sim/replay.c
    sim/replay_start.c
    sim/schedule.c
    sim/share.c
    sim/behind.c
    sim/start.c
    sim/together.c
    sim/transfer.c
    sim/wire.c

    run/advice.c
    run/agreement.c
    run/attendant.c
    run/balance.c
    run/shares.c
    run/choose.c
    run/claim.c
    run/counters.c
    run/device_list.c
    run/devices.c
    run/dry_run.c
    run/graph_files.c
    run/home.c
    run/kernel_communicator.c
    run/pin.c
    run/reports.c
    run/roles.c
    run/round.c
    run/round_note.c
    run/runtime.c
    run/scheduler.c
    run/siblings.c
    run/simulation.c
    run/simulation_trace.c
    run/tracing.c
    run/tune.c
    run/waiting.c
    run/watchdog.c

    api/admit.c
    api/buffer.c
    api/check_overlap.c
    api/check_task.c
    api/context.c
    api/description.c
    api/enter.c
    api/fence.c
    api/group.c
    api/layer.c
    api/mapper.c
    api/mpi.c
    api/object.c
    api/object_fence.c
    api/op.c
    api/owners.c
    api/prepare.c
    api/shapes.c
    api/submit.c
    api/tile.c
    api/view.c
    api/weights.c
)
set(mpi_sources
    comm/mpi/collective.c
    comm/mpi/comm.c
    comm/mpi/create.c
    comm/mpi/failure.c
    comm/mpi/grid.c
    comm/mpi/guard.c
    comm/mpi/machine.c
    comm/mpi/measure.c
    comm/mpi/message.c
    comm/mpi/note.c
    comm/mpi/packed.c
    comm/mpi/reduce.c
    comm/mpi/relays.c
    comm/mpi/settings.c
    comm/mpi/start.c
    comm/mpi/type.c
    comm/mpi/wire.c
)
set(no_mpi_sources comm/none.c)
set(opencl_sources
    device/opencl/device.c
    device/opencl/names.c
    device/opencl/prelude.c
    device/opencl/program.c
    device/opencl/session.c
)
set(no_opencl_sources device/opencl/none.c)
if(TACIT_WITH_OPENCL)
    list(APPEND TACIT_SOURCES ${opencl_sources})
else()
    list(APPEND TACIT_SOURCES ${no_opencl_sources})
endif()
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
tacit_list(TACIT_SOURCES ${PROJECT_SOURCE_DIR}/src "*.c" STRICT ${TACIT_SOURCES} OTHER ${mpi_sources} ${no_mpi_sources} ${opencl_sources} ${no_opencl_sources})

# All of include/tacit/ is public.
file(GLOB TACIT_PUBLIC_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tacit/*.h)
