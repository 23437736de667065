# The manual as HTML: the public headers and the documents, by Doxygen. `cmake --build BUILD --target doc` makes it in BUILD/doc/html;
# with TACIT_HTML it is made with everything else, and installed.
find_program(doxygen doxygen NO_CACHE)
if(TACIT_HTML AND NOT (doxygen AND python))
    message(FATAL_ERROR "TACIT_HTML is ON, and needs doxygen and python3; install them or leave it OFF")
endif()
if(doxygen AND python)
    file(GLOB html_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/*.md ${PROJECT_SOURCE_DIR}/doc/guide/*.md)
    set(html_inputs ${PROJECT_SOURCE_DIR}/README.md ${html_pages} ${TACIT_PUBLIC_HEADERS}
                    ${PROJECT_SOURCE_DIR}/lib/io/include/tacit/io.h ${PROJECT_SOURCE_DIR}/lib/bind/include/tacit/bind.h
                    ${PROJECT_SOURCE_DIR}/lib/cpp/include/tacit/tacit.hpp ${PROJECT_SOURCE_DIR}/lib/cpp/include/tacit/cpp/values.hpp
                    ${PROJECT_SOURCE_DIR}/lib/cpp/include/tacit/cpp/kernel.hpp)
    list(JOIN html_inputs " " html_input)
    set(html_folder ${CMAKE_BINARY_DIR}/doc)
    configure_file(${PROJECT_SOURCE_DIR}/tools/html/Doxyfile.in ${html_folder}/Doxyfile @ONLY)
    set(all)
    if(TACIT_HTML)
        set(all ALL)
        install(DIRECTORY ${html_folder}/html DESTINATION ${CMAKE_INSTALL_DOCDIR})
    endif()
    add_custom_command(OUTPUT ${html_folder}/stamp
                       COMMAND ${CMAKE_COMMAND} -E rm -rf ${html_folder}/html
                       COMMAND ${doxygen} ${html_folder}/Doxyfile
                       COMMAND ${CMAKE_COMMAND} -E touch ${html_folder}/stamp
                       DEPENDS ${html_inputs} ${PROJECT_SOURCE_DIR}/tools/html/filter ${html_folder}/Doxyfile
                       COMMENT "Making the manual as HTML")
    add_custom_target(doc ${all} DEPENDS ${html_folder}/stamp)
endif()
