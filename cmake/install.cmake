# What `cmake --install` puts where: headers, library, tool, benchmarks (bench/CMakeLists.txt), and what other builds find tacit with: the
# target tacit::tacit by find_package(Tacit), or tacit.pc by pkg-config; for programs that include tacit/mpi.h the component MPI with the target
# tacit::mpi, or tacit-mpi.pc. Everything is relative, so the tree can be moved.

include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tacit)

# A static library's users link what it needs; a shared one brings it along.
set(exported tacit tacit_io tacit_bind)
if(TACIT_WITH_FORTRAN)
    list(APPEND exported tacit_fortran)
endif()
if(NOT BUILD_SHARED_LIBS)
    list(APPEND exported tacit_needs tacit_mpi)
endif()
install(TARGETS ${exported} EXPORT TacitTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tacit_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${TACIT_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tacit)

install(EXPORT TacitTargets NAMESPACE tacit:: DESTINATION ${config_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TacitConfig.cmake.in ${CMAKE_BINARY_DIR}/TacitConfig.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TacitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TacitConfig.cmake ${CMAKE_BINARY_DIR}/TacitConfigVersion.cmake DESTINATION ${config_dir})

file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up "${up}")
# What else is linked with a static libtacit. With a shared one, pkg-config must not even look for it.
set(pc_requires)
set(pc_libs)
if(NOT BUILD_SHARED_LIBS)
    list(APPEND pc_requires hwloc ${TACIT_MPI_MODULE})
    list(APPEND pc_libs -lpthread -lm)
    if(NOT TACIT_MPI_MODULE)
        list(APPEND pc_libs ${MPI_C_LIBRARIES})
    endif()
    list(JOIN pc_requires " " pc_requires)
    list(JOIN pc_libs " " pc_libs)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/tacit.pc.in ${CMAKE_BINARY_DIR}/tacit.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tacit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Files: what libtacit-io needs itself is linked with a static one only.
set(pc_io_libs)
if(NOT BUILD_SHARED_LIBS)
    set(pc_io_libs ${tacit_hdf5_libraries} ${png_LINK_LIBRARIES})
    list(JOIN pc_io_libs " " pc_io_libs)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/tacit-io.pc.in ${CMAKE_BINARY_DIR}/tacit-io.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tacit-io.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The modules for Fortran, with the folder that the compiler finds them in.
if(TACIT_WITH_FORTRAN)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/tacit-fortran.pc.in ${CMAKE_BINARY_DIR}/tacit-fortran.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/tacit-fortran.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The MPI that tacit was built with: another one would not fit.
if(TACIT_WITH_MPI)
    set(pc_mpi_cflags)
    set(pc_mpi_libs)
    if(NOT TACIT_MPI_MODULE)
        list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE pc_mpi_cflags)
        list(APPEND pc_mpi_cflags ${MPI_C_COMPILE_OPTIONS})
        set(pc_mpi_libs ${MPI_C_LIBRARIES})
        list(JOIN pc_mpi_cflags " " pc_mpi_cflags)
        list(JOIN pc_mpi_libs " " pc_mpi_libs)
    endif()
    configure_file(${CMAKE_CURRENT_LIST_DIR}/tacit-mpi.pc.in ${CMAKE_BINARY_DIR}/tacit-mpi.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/tacit-mpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# For `module load tacit`: the file is named by the version, and finds the rest from its own place.
set(module_dir ${CMAKE_INSTALL_DATADIR}/modulefiles/tacit)
file(RELATIVE_PATH module_up /${module_dir} /)
string(REGEX REPLACE "/$" "" module_up "${module_up}")
configure_file(${PROJECT_SOURCE_DIR}/packaging/modules/tacit.tcl.in ${CMAKE_BINARY_DIR}/modulefile @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/modulefile RENAME ${PROJECT_VERSION} DESTINATION ${module_dir})

# What has to be built before it can be installed: `make demo` builds no more than that and the examples.
add_custom_target(installable)
add_dependencies(installable ${exported} tacit_tool)
if(TARGET tacit_manual)
    add_dependencies(installable tacit_manual)
endif()
