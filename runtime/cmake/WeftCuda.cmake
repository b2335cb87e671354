# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds what is needed of the CUDA toolkit to build the runtime: headers and
# nvcc. Nothing is linked: libraries are opened when a plan for CUDA is loaded
# (src/cuda/platform/Libraries.h). Sets
#
#   weft_has_cuda            whether plans for CUDA can be executed
#   weft_has_cudnn, weft_has_nccl
#                            whether the headers of these are there
#   WEFT_CUDA_INCLUDE        the folder of the headers
#   weft_cuda_library_folder where the toolkit keeps its libraries, or empty
#
# and defines the target weft_cuda_headers, where CUDA is, and weft_embed_ptx.

set(WEFT_CUDA AUTO CACHE STRING
    "Plans for GPUs by CUDA 13: ON, OFF, or AUTO (when a toolkit is found)")
set_property(CACHE WEFT_CUDA PROPERTY STRINGS AUTO ON OFF)

set(weft_has_cuda OFF)
set(weft_has_cudnn OFF)
set(weft_has_nccl OFF)
set(weft_cuda_library_folder "")
if(NOT WEFT_CUDA STREQUAL "OFF")
  find_program(WEFT_NVCC nvcc
    HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin
    DOC "Compiler of the runtime's own CUDA kernels")
  set(weft_cuda_root "")
  if(WEFT_NVCC)
    get_filename_component(weft_cuda_root "${WEFT_NVCC}" REALPATH)
    get_filename_component(weft_cuda_root "${weft_cuda_root}" DIRECTORY)
    get_filename_component(weft_cuda_root "${weft_cuda_root}" DIRECTORY)
  endif()
  # First the folder that nvcc is in: another toolkit's headers would not fit.
  find_path(WEFT_CUDA_INCLUDE cuda_runtime_api.h
    HINTS ${weft_cuda_root} ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda
    PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include)

  set(weft_cuda_missing "")
  if(NOT WEFT_NVCC)
    list(APPEND weft_cuda_missing "nvcc")
  endif()
  if(NOT WEFT_CUDA_INCLUDE OR NOT EXISTS ${WEFT_CUDA_INCLUDE}/cuda_runtime_api.h)
    list(APPEND weft_cuda_missing "cuda_runtime_api.h")
  else()
    if(NOT EXISTS ${WEFT_CUDA_INCLUDE}/cublasLt.h)
      list(APPEND weft_cuda_missing "cublasLt.h")
    endif()
    file(STRINGS ${WEFT_CUDA_INCLUDE}/cuda_runtime_api.h weft_cudart_version
      REGEX "^#define CUDART_VERSION")
    string(REGEX MATCH "[0-9]+" weft_cudart_version "${weft_cudart_version}")
    if(NOT weft_cudart_version OR weft_cudart_version LESS 13000)
      list(APPEND weft_cuda_missing
        "headers of CUDA 13 (${WEFT_CUDA_INCLUDE} has ${weft_cudart_version})")
    endif()
  endif()

  if(NOT weft_cuda_missing)
    set(weft_has_cuda ON)
    foreach(pair cudnn:cudnn.h nccl:nccl.h)
      string(REPLACE ":" ";" pair ${pair})
      list(GET pair 0 name)
      list(GET pair 1 header)
      if(EXISTS ${WEFT_CUDA_INCLUDE}/${header})
        set(weft_has_${name} ON)
      endif()
    endforeach()
    get_filename_component(weft_cuda_parent ${WEFT_CUDA_INCLUDE} DIRECTORY)
    foreach(name lib64 lib)
      if(EXISTS ${weft_cuda_parent}/${name}/libcudart.so.13)
        set(weft_cuda_library_folder ${weft_cuda_parent}/${name})
        break()
      endif()
    endforeach()
  elseif(WEFT_CUDA STREQUAL "ON")
    list(JOIN weft_cuda_missing ", " weft_cuda_missing)
    message(FATAL_ERROR
      "WEFT_CUDA is ON, but ${weft_cuda_missing} was not found; install the CUDA "
      "13 toolkit, or name it with CUDA_HOME or WEFT_NVCC and "
      "WEFT_CUDA_INCLUDE")
  endif()
endif()

if(weft_has_cuda)
  # What sees CUDA's headers; nothing of CUDA is linked.
  add_library(weft_cuda_headers INTERFACE)
  target_include_directories(weft_cuda_headers SYSTEM
    INTERFACE ${WEFT_CUDA_INCLUDE})
  target_compile_definitions(weft_cuda_headers INTERFACE
    WEFT_HAS_CUDA=1
    WEFT_HAS_CUDNN=$<BOOL:${weft_has_cudnn}>
    WEFT_HAS_NCCL=$<BOOL:${weft_has_nccl}>)
endif()

# weft_embed_ptx(target file.cu [NAME name] [DEFINES macro=value...]): compiles
# device code to PTX that every GPU from sm_80 on can load, and gives `target`
# the text as `weft::runtime::embedded::<name>`, without a NAME that of the file
# (src/cuda/platform/EmbeddedPtx.h).
set(weft_embed_script ${CMAKE_CURRENT_LIST_DIR}/EmbedText.cmake)
function(weft_embed_ptx target file)
  cmake_parse_arguments(ARG "" "NAME" "DEFINES" ${ARGN})
  get_filename_component(name ${file} NAME_WE)
  if(ARG_NAME)
    set(name ${ARG_NAME})
  endif()
  list(TRANSFORM ARG_DEFINES PREPEND -D)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set(runtime ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/ptx)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/${name}.ptx ${folder}/${name}.cpp
    COMMAND ${WEFT_NVCC} -ptx -arch=compute_80 -O3 -std=c++20 ${ARG_DEFINES}
            --expt-relaxed-constexpr
            -I${runtime}/include -I${runtime}/src -MD -MF ${folder}/${name}.d
            -MT ${folder}/${name}.ptx ${source} -o ${folder}/${name}.ptx
    COMMAND ${CMAKE_COMMAND} -D INPUT=${folder}/${name}.ptx
            -D OUTPUT=${folder}/${name}.cpp -D NAME=${name}
            -P ${weft_embed_script}
    DEPENDS ${source} ${weft_embed_script}
    DEPFILE ${folder}/${name}.d
    COMMENT "Compiling ${file} to ${name}.ptx"
    VERBATIM)
  set_property(GLOBAL APPEND PROPERTY WEFT_PTX_FILES ${folder}/${name}.ptx)
  # A library of its own, because the rule for the file is of this folder.
  add_library(weft_ptx_${name} OBJECT ${folder}/${name}.cpp)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:weft_ptx_${name}>)
endfunction()
