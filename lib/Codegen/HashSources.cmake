# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -D FOLDER=lib/Codegen -D OUTPUT=CodegenSources.h -P HashSources.cmake

file(GLOB sources RELATIVE ${FOLDER} ${FOLDER}/*.cpp ${FOLDER}/*.h ${FOLDER}/cuda/*.cpp
     ${FOLDER}/cuda/*.h)
list(SORT sources)
set(hashes "")
foreach(source ${sources})
  file(SHA256 ${FOLDER}/${source} hash)
  string(APPEND hashes "${source} ${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
file(WRITE ${OUTPUT} "#define WEFT_CODEGEN_SOURCES \"${hash}\"\n")
