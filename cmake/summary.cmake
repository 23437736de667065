# What was decided, in a few lines at the end of configuring.

message(STATUS "tacit ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
message(STATUS "  MPI          ${TACIT_MPI_NAME}")
message(STATUS "  checks       ${TACIT_CHECKS}")
if(TACIT_SANITIZE)
    message(STATUS "  sanitizers   ${TACIT_SANITIZE}")
endif()
if(TACIT_COVERAGE)
    message(STATUS "  coverage     on")
endif()
message(STATUS "  tests        ${TACIT_BUILD_TESTS}")
message(STATUS "  examples     ${TACIT_BUILD_EXAMPLES} (for this processor: ${TACIT_NATIVE})")
message(STATUS "  benchmarks   ${TACIT_BUILD_BENCH}")
