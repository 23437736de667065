# What `cmake --install` puts where: headers, library, tool, benchmarks, and the file for pkg-config.

install(TARGETS tacit
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tacit_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${TACIT_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tacit)

file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tacit.pc.in ${CMAKE_BINARY_DIR}/tacit.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tacit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
