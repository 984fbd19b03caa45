// SPDX-License-Identifier: Apache-2.0
// System calls on descriptors in which a thread may sleep for long: what they do, by their number.
#pragma once

#include "common.bpf.h"

#if defined(__TARGET_ARCH_x86)
#include <asm/unistd_64.h>
#define ENOSYS 38
// An interrupt or page fault leaves other values there than a system call.
inline_always long call_number(struct pt_regs* registers) {
  return (long)BPF_CORE_READ(registers, ax) == -ENOSYS ? (long)BPF_CORE_READ(registers, orig_ax) : -1;
}
// Number and fourth argument of a call, in typed registers.
inline_always int number_in(struct pt_regs* registers) { return registers->orig_ax; }
inline_always s64 fourth_in(struct pt_regs* registers) { return registers->r10; }
inline_always int is_access(struct pt_regs* registers) {
  enum { kOf32Bits = 33, kFaccessatOf32Bits = 307 };
  const int number = number_in(registers);
  return number == __NR_access || number == __NR_faccessat || number == __NR_faccessat2 || number == kOf32Bits ||
         number == kFaccessatOf32Bits;
}
#elif defined(__TARGET_ARCH_arm64)
#include <asm-generic/unistd.h>
inline_always long call_number(struct pt_regs* registers) { return BPF_CORE_READ(registers, syscallno); }
// Number and fourth argument of a call, in typed registers.
inline_always int number_in(struct pt_regs* registers) { return registers->syscallno; }
inline_always s64 fourth_in(struct pt_regs* registers) { return registers->regs[3]; }
inline_always int is_access(struct pt_regs* registers) {
  enum { kOf32Bits = 33, kFaccessatOf32Bits = 334 };
  const int number = number_in(registers);
  return number == __NR_faccessat || number == __NR_faccessat2 || number == kOf32Bits || number == kFaccessatOf32Bits;
}
#endif

inline_always struct pt_regs* registers_of_call(void) { return (struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf()); }

// Whether this thread may be in access(2), which costs less to ask than its state does. A call of another kind of program may
// have such a number as well.
inline_always int in_access(void) { return is_access(registers_of_call()); }

struct fd_call {
  u32 kind;        // enum witness_kind; 0: another call
  u32 flags;       // of fsync: data only
  u32 sized;       // the third argument is a length
  u32 vectors;     // it is a number of buffers
  u32 positioned;  // the fourth argument is a position
};

inline_always struct fd_call fd_call_of(struct pt_regs* registers) {
  const long number = call_number(registers);
  if (number == __NR_read) return (struct fd_call){.kind = kWitnessRead, .sized = 1};
  if (number == __NR_write) return (struct fd_call){.kind = kWitnessWrite, .sized = 1};
  if (number == __NR_pread64) return (struct fd_call){.kind = kWitnessRead, .sized = 1, .positioned = 1};
  if (number == __NR_pwrite64) return (struct fd_call){.kind = kWitnessWrite, .sized = 1, .positioned = 1};
  if (number == __NR_readv) return (struct fd_call){.kind = kWitnessRead, .vectors = 1};
  if (number == __NR_writev) return (struct fd_call){.kind = kWitnessWrite, .vectors = 1};
  if (number == __NR_preadv) return (struct fd_call){.kind = kWitnessRead, .vectors = 1, .positioned = 1};
  if (number == __NR_pwritev) return (struct fd_call){.kind = kWitnessWrite, .vectors = 1, .positioned = 1};
  if (number == __NR_fsync) return (struct fd_call){.kind = kWitnessFsync};
  if (number == __NR_fdatasync) return (struct fd_call){.kind = kWitnessFsync, .flags = 1};
  return (struct fd_call){};
}
