// SPDX-License-Identifier: Apache-2.0
// Loads and stores of mappings, as far as the kernel hears of them. A page fault that looks up the file's page is a read of it.
// One by a store to a shared mapping is a write. After the kernel has written a page back to a disk, the next store makes a
// fault again.
#pragma once

#include "state.bpf.h"

#define VM_SHARED 8
#define VM_FAULT_NOPAGE 0x100
// VM_FAULT_ERROR of <linux/mm_types.h>, and VM_FAULT_RETRY, after which the fault comes again.
#define VM_FAULT_NOT_DONE 0xc73

// Set by the capture before the programs are loaded.
const volatile __u32 page_size = 4096;

SEC("fentry/security_mmap_file")
int BPF_PROG(mapping_begins, struct file* file) {
  if (file && captured_file(file)) __sync_fetch_and_add(&unseen_mappings, 1);
  return 0;
}

inline_always int touches_page(u32 kind, struct file* file, u64 at) {
  const u64 size = file->f_inode->i_size;
  if (at >= size) return 0;
  if (is_of_overlay(file)) {
    __sync_fetch_and_add(&unseen_faults, 1);
    return 0;
  }
  // The fault may lie within a call, whose start stays as it is.
  struct witness_record* r = file_record_in(0, kind, 0, file);
  if (!r) return 0;
  r->marks = kWitnessByKernel;
  r->offset = at;
  r->length = page_size;
  if (size - at < page_size) r->length = size - at;
  r->result = r->length;
  send(r);
  return 0;
}

SEC("fexit/handle_mm_fault")
int BPF_PROG(store_ended, struct vm_area_struct* area, u64 address, u32 flags, struct pt_regs* registers, u32 result) {
  struct file* file = area->vm_file;
  if (!file || !(flags & FAULT_FLAG_WRITE) || !(area->vm_flags & VM_SHARED) || (result & VM_FAULT_NOT_DONE) ||
      !captured_file(file))
    return 0;
  return touches_page(kWitnessWrite, file, ((address - area->vm_start) & ~(u64)(page_size - 1)) + area->vm_pgoff * page_size);
}

// The page was looked up in the file. A copy of it that a private mapping has already makes faults of its own, which are no
// reads.
inline_always int looked_up(struct vm_fault* fault, u32 result) {
  struct vm_area_struct* area = fault->vma;
  struct file* file = area->vm_file;
  if (!file || (result & VM_FAULT_NOT_DONE) || ((fault->flags & FAULT_FLAG_WRITE) && (area->vm_flags & VM_SHARED)) ||
      !captured_file(file))
    return 0;
  return touches_page(kWitnessRead, file, fault->pgoff * page_size);
}

SEC("fexit/filemap_fault")
int BPF_PROG(load_ended, struct vm_fault* fault, u32 result) { return looked_up(fault, result); }

SEC("fexit/shmem_fault")
int BPF_PROG(shmem_load_ended, struct vm_fault* fault, u32 result) { return looked_up(fault, result); }

// Maps pages that are in memory. If that of the fault is one of them, nothing more is asked.
SEC("fexit/filemap_map_pages")
int BPF_PROG(near_load_ended, struct vm_fault* fault, u64 first, u64 last, u32 result) {
  return result & VM_FAULT_NOPAGE ? looked_up(fault, result) : 0;
}
