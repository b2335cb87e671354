# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One precompiled header of the MLIR and LLVM headers that most translation
# units of the compiler read: it halves their compile time. Headers of the
# project are left out, so that editing one does not rebuild everything.

option(WEFT_PRECOMPILED_HEADER
       "Precompile MLIR's headers; OFF shows which includes a file lacks" ON)

if(WEFT_PRECOMPILED_HEADER)
  file(WRITE ${PROJECT_BINARY_DIR}/weft_pch.cpp.in "")
  configure_file(${PROJECT_BINARY_DIR}/weft_pch.cpp.in
                 ${PROJECT_BINARY_DIR}/weft_pch.cpp COPYONLY)
  # What ccache needs to cache what is compiled with the header.
  target_compile_options(weft_mlir INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  set(weft_headers
    <algorithm> <cmath> <functional> <map> <memory> <numeric> <optional> <set>
    <string> <tuple> <variant> <vector>
    <llvm/ADT/MapVector.h>
    <llvm/ADT/SetVector.h>
    <llvm/ADT/StringMap.h>
    <llvm/ADT/TypeSwitch.h>
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h>
    <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h>
    <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/Builders.h>
    <mlir/IR/BuiltinOps.h>
    <mlir/IR/IRMapping.h>
    <mlir/IR/Matchers.h>
    <mlir/IR/PatternMatch.h>
    <mlir/Pass/Pass.h>
    <mlir/Pass/PassManager.h>)
  add_library(weft_pch OBJECT ${PROJECT_BINARY_DIR}/weft_pch.cpp)
  target_link_libraries(weft_pch PRIVATE weft_mlir)
  target_precompile_headers(weft_pch PRIVATE ${weft_headers})
  if(BUILD_TESTING)
    add_library(weft_mlir_test_pch OBJECT ${PROJECT_BINARY_DIR}/weft_pch.cpp)
    target_compile_options(weft_mlir_test_pch PRIVATE
      ${WEFT_LIGHT_TEST_COMPILE_OPTIONS})
    target_link_libraries(weft_mlir_test_pch PRIVATE weft_mlir GTest::gmock)
    target_precompile_headers(weft_mlir_test_pch PRIVATE
      ${weft_headers} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endif()

# weft_use_precompiled_header(<target>): for targets that see MLIR. Executables
# are compiled as libraries are (-fPIC), which the header was made with.
function(weft_use_precompiled_header target)
  if(WEFT_PRECOMPILED_HEADER)
    target_precompile_headers(${target} REUSE_FROM weft_pch)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
  endif()
endfunction()
