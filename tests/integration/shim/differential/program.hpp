// SPDX-License-Identifier: Apache-2.0
// A whole ELF program for x86-64 and aarch64 in a few bytes: its exit status is 1 + its effective user's number, modulo 256.
#pragma once

#include <elf.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace differential {

#if defined(__x86_64__)
constexpr uint8_t kCode[] = {0xb8, 107,  0,    0, 0, 0x0f, 0x05,   // mov eax, geteuid; syscall
                             0x8d, 0x78, 0x01,                     // lea edi, [rax + 1]
                             0xb8, 231,  0,    0, 0, 0x0f, 0x05};  // mov eax, exit_group; syscall
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint8_t kCode[] = {0xe8, 0x15, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4,   // mov x8, geteuid (175); svc 0
                             0x00, 0x04, 0x00, 0x91,                           // add x0, x0, 1
                             0xc8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};  // mov x8, exit_group (94); svc 0
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint8_t kCode[] = {0};
constexpr uint16_t kMachine = EM_NONE;
#endif

struct Program {
  Elf64_Ehdr file;
  Elf64_Phdr segment;
  uint8_t code[sizeof kCode];
};

inline Program make_program() {
  constexpr uint64_t kAddress = 0x400000;
  Program p = {};
  memcpy(p.file.e_ident, ELFMAG, SELFMAG);
  p.file.e_ident[EI_CLASS] = ELFCLASS64;
  p.file.e_ident[EI_DATA] = ELFDATA2LSB;
  p.file.e_ident[EI_VERSION] = EV_CURRENT;
  p.file.e_type = ET_EXEC;
  p.file.e_machine = kMachine;
  p.file.e_version = EV_CURRENT;
  p.file.e_entry = kAddress + offsetof(Program, code);
  p.file.e_phoff = offsetof(Program, segment);
  p.file.e_ehsize = sizeof p.file;
  p.file.e_phentsize = sizeof p.segment;
  p.file.e_phnum = 1;
  p.segment.p_type = PT_LOAD;
  p.segment.p_flags = PF_R | PF_X;
  p.segment.p_vaddr = p.segment.p_paddr = kAddress;
  p.segment.p_filesz = p.segment.p_memsz = sizeof p;
  p.segment.p_align = 4096;
  memcpy(p.code, kCode, sizeof kCode);
  return p;
}

}  // namespace differential
