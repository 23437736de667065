# Pages for `man` and completions for shells, made from the public headers and the tool's --help; and what is installed below share/.
find_program(python python3 NO_CACHE)
if(python AND NOT TACIT_SANITIZE AND NOT TACIT_COVERAGE AND NOT TACIT_FUZZ)
    set(manual ${CMAKE_BINARY_DIR}/manual)
    set(TACIT_MANUAL_HEADERS ${PROJECT_SOURCE_DIR}/include/tacit:${PROJECT_SOURCE_DIR}/lib/io/include/tacit:${PROJECT_SOURCE_DIR}/lib/bind/include/tacit)
    add_custom_command(OUTPUT ${manual}.stamp
                       COMMAND ${python} ${PROJECT_SOURCE_DIR}/tools/manual ${TACIT_MANUAL_HEADERS} $<TARGET_FILE:tacit_tool> ${manual}
                       COMMAND ${CMAKE_COMMAND} -E touch ${manual}.stamp
                       DEPENDS ${PROJECT_SOURCE_DIR}/tools/manual ${TACIT_PUBLIC_HEADERS} ${PROJECT_SOURCE_DIR}/lib/io/include/tacit/io.h
                               ${PROJECT_SOURCE_DIR}/lib/bind/include/tacit/bind.h tacit_tool
                       COMMENT "Making pages for man")
    add_custom_target(tacit_manual ALL DEPENDS ${manual}.stamp)
    install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
    install(FILES ${manual}/completions/tacit.bash RENAME tacit DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${manual}/completions/_tacit DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${manual}/completions/tacit.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY doc DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN "*.c")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The headers are the manual, and documents refer to them and to the examples of other languages as they lie in the tree.
install(DIRECTORY include lib/io/include lib/bind/include DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(language cpp fortran python)
    install(DIRECTORY lib/${language}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/lib/${language})
endforeach()
