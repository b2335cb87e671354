# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How tests are compiled: with one precompiled header of GoogleTest, which takes
# half the time of most of their files.

set(WEFT_LIGHT_TEST_COMPILE_OPTIONS "" CACHE STRING
    "Options for tests that compute little themselves, behind those of the build type")
find_package(GTest REQUIRED)

# weft_test_header(<name> <option>...)
# A header for tests that are compiled with these options.
function(weft_test_header name)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp.in "")
  configure_file(${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp.in
                 ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp COPYONLY)
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_compile_options(${name} PRIVATE ${ARGN})
  target_link_libraries(${name} PRIVATE GTest::gmock)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_precompile_headers(${name} PRIVATE
    <gmock/gmock.h> <gtest/gtest.h>
    <algorithm> <functional> <map> <memory> <optional> <string> <vector>)
endfunction()

weft_test_header(weft_test_pch)
if(WEFT_LIGHT_TEST_COMPILE_OPTIONS)
  weft_test_header(weft_light_test_pch ${WEFT_LIGHT_TEST_COMPILE_OPTIONS})
endif()

# weft_test_options(<target> <header's target> <option>...)
# The options of a test, and its header. An executable is compiled as libraries
# are (-fPIC), as the header was.
function(weft_test_options target header)
  target_compile_options(${target} PRIVATE -Wall -Wextra -fPIC
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> ${ARGN})
  target_precompile_headers(${target} REUSE_FROM ${header})
endfunction()

function(weft_light_test_options target)
  if(TARGET weft_light_test_pch)
    weft_test_options(${target} weft_light_test_pch
      ${WEFT_LIGHT_TEST_COMPILE_OPTIONS})
  else()
    weft_test_options(${target} weft_test_pch)
  endif()
endfunction()
