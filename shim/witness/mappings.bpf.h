// SPDX-License-Identifier: Apache-2.0
// Loads and stores of mappings, as far as the kernel hears of them. A page fault is a read of its page, and one by a store to a
// shared mapping is a write. After the kernel has written a page back to a disk, the next store makes a fault again.
#pragma once

#include "state.bpf.h"

#define VM_SHARED 8
#define FAULT_FLAG_WRITE 1
// VM_FAULT_ERROR of <linux/mm_types.h>, and VM_FAULT_RETRY, after which the fault comes again.
#define VM_FAULT_NOT_DONE 0xc73

// Set by the capture before the programs are loaded.
const volatile __u32 page_size = 4096;

SEC("fentry/security_mmap_file")
int BPF_PROG(mapping_begins, struct file* file) {
  if (file && captured_file(file)) __sync_fetch_and_add(&unseen_mappings, 1);
  return 0;
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(fault_ended, struct vm_area_struct* area, u64 address, u32 flags, struct pt_regs* registers, u32 result) {
  struct file* file = area->vm_file;
  if (!file || (result & VM_FAULT_NOT_DONE) || !captured_file(file)) return 0;
  const u64 at = ((address - area->vm_start) & ~(u64)(page_size - 1)) + area->vm_pgoff * page_size;
  const u64 size = file->f_inode->i_size;
  if (at >= size) return 0;
  const int stores = (flags & FAULT_FLAG_WRITE) && (area->vm_flags & VM_SHARED);
  // The fault may lie within a call, whose start stays as it is.
  struct witness_record* r = file_record_in(0, stores ? kWitnessWrite : kWitnessRead, 0, file);
  if (!r) return 0;
  r->marks = kWitnessByKernel;
  r->offset = at;
  r->length = page_size;
  if (size - at < page_size) r->length = size - at;
  r->result = r->length;
  send(r);
  return 0;
}
