# The target sp_manual: a manual page and a completion script for each program.
find_program(SP_AWK awk REQUIRED)
set(about_sp_solve ${PROJECT_DESCRIPTION})
set(about_sp_bench "Times the operators of sp_solve")
set(asked_sp_solve help defaults)
set(asked_sp_bench help)

set(results "")
foreach(program IN ITEMS sp_solve sp_bench)
  set(texts "")
  foreach(argument IN LISTS asked_${program})
    set(text ${CMAKE_CURRENT_BINARY_DIR}/${program}.${argument})
    add_custom_command(OUTPUT ${text} DEPENDS ${program} ask.cmake VERBATIM
      COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> -DARGUMENT=--${argument} -DOUTPUT=${text}
        -P ${CMAKE_CURRENT_SOURCE_DIR}/ask.cmake)
    list(APPEND texts ${text})
  endforeach()
  set(page ${CMAKE_CURRENT_BINARY_DIR}/${program}.1)
  add_custom_command(OUTPUT ${page} DEPENDS ${texts} man.awk VERBATIM
    COMMAND ${SP_AWK} -v name=${program} -v version=${PROJECT_VERSION} -v about=${about_${program}}
      -v documents=${SP_DOCUMENTS_FOLDER} -v inputs=${SP_INPUTS_FOLDER}
      -f ${CMAKE_CURRENT_SOURCE_DIR}/man.awk ${texts} > ${page})
  set(completion ${CMAKE_CURRENT_BINARY_DIR}/${program}.bash)
  add_custom_command(OUTPUT ${completion} DEPENDS ${texts} completion.awk completion.bash VERBATIM
    COMMAND ${SP_AWK} -v name=${program} -f ${CMAKE_CURRENT_SOURCE_DIR}/completion.awk
      ${CMAKE_CURRENT_SOURCE_DIR}/completion.bash ${texts} > ${completion})
  list(APPEND results ${page} ${completion})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
endforeach()
add_custom_target(sp_manual ALL DEPENDS ${results})
