# Writes what a program prints to OUTPUT. Run with -DPROGRAM= -DARGUMENT= -DOUTPUT=
file(REMOVE ${OUTPUT})
set(ENV{ASAN_OPTIONS} detect_leaks=0) # of MPI libraries
execute_process(COMMAND ${PROGRAM} ${ARGUMENT} OUTPUT_VARIABLE text ERROR_VARIABLE error RESULT_VARIABLE failed
  TIMEOUT 60)
if(failed OR text STREQUAL "")
  message(FATAL_ERROR "The manual pages and the completion are made from '${PROGRAM} ${ARGUMENT}', which does not "
    "run here (${failed}): ${error}\nBuild on a machine where it runs, or go without them: "
    "cmake -DSP_MANUAL_PAGES=OFF")
endif()
file(WRITE ${OUTPUT} "${text}")
