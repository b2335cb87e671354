# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Whether the Python package is built, and with which Python: that of
# build/venv, where scripts/setup.sh puts nanobind, unless Python_EXECUTABLE
# names another. Sets weft_has_python and WEFT_NANOBIND_DIR.

set(WEFT_PYTHON AUTO CACHE STRING
    "The Python package: ON, OFF, or AUTO (when nanobind is found)")
set_property(CACHE WEFT_PYTHON PROPERTY STRINGS AUTO ON OFF)

set(weft_has_python OFF)
if(NOT WEFT_PYTHON STREQUAL "OFF")
  if(NOT Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/build/venv/bin/python)
    set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/build/venv/bin/python
        CACHE FILEPATH "Python that the package is built for")
  endif()
  find_package(Python 3.11 COMPONENTS Interpreter Development.Module)
  if(Python_FOUND)
    execute_process(
      COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
      OUTPUT_VARIABLE WEFT_NANOBIND_DIR OUTPUT_STRIP_TRAILING_WHITESPACE
      ERROR_QUIET RESULT_VARIABLE weft_no_nanobind)
    if(weft_no_nanobind EQUAL 0)
      set(weft_has_python ON)
    endif()
  endif()
  if(NOT weft_has_python)
    set(weft_problem "the Python package needs Python 3.11 or newer with its headers and the package nanobind (scripts/setup.sh installs it)")
    if(WEFT_PYTHON STREQUAL "ON")
      message(FATAL_ERROR "WEFT_PYTHON is ON, but ${weft_problem}")
    endif()
    message(STATUS "Weft: no Python package: ${weft_problem}")
  endif()
endif()
