# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   cmake -D PTXAS=ptxas -D PTX=a.ptx -D ACCEPTED=a.accepted -P AcceptPtx.cmake
#
# Fails unless ptxas takes the file for every processor that plans are compiled
# for, without spilling registers. What this ptxas has accepted is remembered
# in a file, as the answer would be the same.

file(SHA256 ${PTX} ptx)
file(SHA256 ${CMAKE_CURRENT_LIST_FILE} script)
file(SIZE ${PTXAS} size)
file(TIMESTAMP ${PTXAS} made)
set(question "${ptx} ${script} ${PTXAS} ${size} ${made}")
if(EXISTS ${ACCEPTED})
  file(READ ${ACCEPTED} known)
  if(known STREQUAL question)
    return()
  endif()
endif()

foreach(processor sm_80 sm_90 sm_100)
  execute_process(
    COMMAND ${PTXAS} -v -arch=${processor} ${PTX} -o /dev/null
    RESULT_VARIABLE result OUTPUT_VARIABLE report ERROR_VARIABLE report)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${processor} refuses ${PTX}:\n${report}")
  endif()
  if(NOT report MATCHES "Used [0-9]+ registers")
    message(FATAL_ERROR "${processor} finds no kernel in ${PTX}:\n${report}")
  endif()
  if(report MATCHES "[1-9][0-9]* bytes spill")
    message(FATAL_ERROR "${processor} spills registers in ${PTX}:\n${report}")
  endif()
endforeach()
file(WRITE ${ACCEPTED} "${question}")
