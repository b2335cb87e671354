# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The implementations of MPI that are installed. Each gets a module that calls
# it, which a process loads when it was started by it; the runtime itself links
# none of them.

find_package(PkgConfig)
set(weft_mpi "")
foreach(name_package openmpi=ompi-c mpich=mpich)
  string(REPLACE "=" ";" pair ${name_package})
  list(GET pair 0 name)
  list(GET pair 1 package)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(WEFT_${name} QUIET IMPORTED_TARGET ${package})
  endif()
  if(NOT WEFT_${name}_FOUND)
    continue()
  endif()
  list(APPEND weft_mpi ${name})
  add_library(weft_mpi_${name} MODULE ${CMAKE_CURRENT_SOURCE_DIR}/src/comm/mpi/MpiModule.cpp)
  target_include_directories(weft_mpi_${name} PRIVATE src)
  target_include_directories(weft_mpi_${name} SYSTEM PRIVATE
    ${WEFT_${name}_INCLUDE_DIRS})
  target_compile_options(weft_mpi_${name} PRIVATE -Wall -Wextra)
  target_link_libraries(weft_mpi_${name} PRIVATE PkgConfig::WEFT_${name})
  # Beside the programs and modules that load it.
  set_target_properties(weft_mpi_${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  find_program(WEFT_MPIRUN_${name} NAMES mpirun.${name} mpirun)
endforeach()
