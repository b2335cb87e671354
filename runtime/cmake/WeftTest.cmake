# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How tests are compiled: with one precompiled header of GoogleTest, which takes
# half the time of most of their files.

set(WEFT_TEST_COMPILE_OPTIONS "" CACHE STRING
    "Options for the files of tests, behind those of the build type")
find_package(GTest REQUIRED)

file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/weft_test_pch.cpp.in "")
configure_file(${CMAKE_CURRENT_BINARY_DIR}/weft_test_pch.cpp.in
               ${CMAKE_CURRENT_BINARY_DIR}/weft_test_pch.cpp COPYONLY)
add_library(weft_test_pch OBJECT ${CMAKE_CURRENT_BINARY_DIR}/weft_test_pch.cpp)
target_link_libraries(weft_test_pch PRIVATE GTest::gmock)
set_target_properties(weft_test_pch PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_precompile_headers(weft_test_pch PRIVATE
  <gmock/gmock.h> <gtest/gtest.h>
  <algorithm> <functional> <map> <memory> <optional> <string> <vector>)

# weft_test_options(<target> [<header's target>])
# The options of a test, and the header made for weft_test_pch or for another
# target. An executable is compiled as libraries are (-fPIC), as the header was.
function(weft_test_options target)
  set(header weft_test_pch)
  if(ARGC GREATER 1)
    set(header ${ARGV1})
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra -fPIC
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> ${WEFT_TEST_COMPILE_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM ${header})
endfunction()
