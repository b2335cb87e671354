//===- ElfHeader.cpp - Shape of a shared object -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/ElfHeader.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>

namespace weft::runtime {

static Result<Elf64_Ehdr> readHeader(std::span<const uint8_t> object) {
  Elf64_Ehdr header;
  if (object.size() < sizeof(header))
    return invalidArgument(
        fmt::format("{} bytes are too few for an ELF file", object.size()));
  std::memcpy(&header, object.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return invalidArgument("is not an ELF file");
  return header;
}

Status checkElfHeader(std::span<const uint8_t> object) {
  WEFT_ASSIGN_OR_RETURN(const Elf64_Ehdr header, readHeader(object));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN)
    return invalidArgument("is not a 64-bit little-endian shared object");
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phoff > object.size() ||
      header.e_phnum > (object.size() - header.e_phoff) / sizeof(Elf64_Phdr))
    return invalidArgument("its program headers lie outside the file");
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, object.data() + header.e_phoff + i * sizeof(segment),
                sizeof(segment));
    if (segment.p_offset > object.size() ||
        segment.p_filesz > object.size() - segment.p_offset)
      return invalidArgument(fmt::format("segment {} lies outside its {} bytes",
                                         i, object.size()));
  }
  return {};
}

Status checkCubinHeader(std::span<const uint8_t> object) {
  WEFT_ASSIGN_OR_RETURN(const Elf64_Ehdr header, readHeader(object));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_CUDA)
    return invalidArgument(
        fmt::format("is for machine {} of ELF, GPUs are machine {}",
                    header.e_machine, EM_CUDA));
  if (header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_shoff > object.size() ||
      header.e_shnum > (object.size() - header.e_shoff) / sizeof(Elf64_Shdr))
    return invalidArgument("its section headers lie outside the file");
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, object.data() + header.e_shoff + i * sizeof(section),
                sizeof(section));
    if (section.sh_type != SHT_NOBITS &&
        (section.sh_offset > object.size() ||
         section.sh_size > object.size() - section.sh_offset))
      return invalidArgument(fmt::format("section {} lies outside its {} bytes",
                                         i, object.size()));
  }
  return {};
}

} // namespace weft::runtime
