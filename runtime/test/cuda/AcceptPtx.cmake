# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   cmake -D PTXAS=ptxas -D PTX=a.ptx -P AcceptPtx.cmake
#
# Fails unless ptxas takes the file for every processor that plans are compiled
# for, without spilling registers.

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
