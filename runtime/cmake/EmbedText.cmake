# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   cmake -D INPUT=a.ptx -D OUTPUT=a.cpp -D NAME=a -P EmbedText.cmake
#
# Writes a C++ source that holds a text as weft::runtime::embedded::<NAME>.

file(READ ${INPUT} text)
# In pieces: compilers limit the length of one literal.
string(LENGTH "${text}" length)
set(literals "")
set(begin 0)
while(begin LESS length)
  string(SUBSTRING "${text}" ${begin} 8000 piece)
  string(APPEND literals "R\"weft(${piece})weft\"\n")
  math(EXPR begin "${begin} + 8000")
endwhile()
# With its length, which compilers would count character by character: a second
# for a text of 400 kB.
file(WRITE ${OUTPUT}
  "// Written by EmbedText.cmake.\n"
  "#include <string_view>\n"
  "namespace weft::runtime::embedded {\n"
  "static constexpr char text[] =\n${literals};\n"
  "extern const std::string_view ${NAME};\n"
  "const std::string_view ${NAME}(text, sizeof(text) - 1);\n"
  "} // namespace weft::runtime::embedded\n")
