// SPDX-License-Identifier: Apache-2.0
// Counts changes of names below the directory that are not captured: by others, or through another mount. A replay lacks them.
#pragma once

#include "state.bpf.h"

// Counts a change of a name that was made, unless it lies too deep to tell where.
inline_always void name_changed(struct dentry* dentry, struct super_block* super) {
  if (!on_fence(super) || bpf_get_current_pid_tgid() >> 32 == own_process) return;
  struct call* call = call_if_any();
  if (everywhere ? captured_thread() : call && call->change.kind) return;
  if (at_or_below(dentry) > 0) __sync_fetch_and_add(&names_of_others, 1);
}

// `result`: 0, a negative errno, or, of newer kernels, a pointer that may stand for one.
inline_always void name_change_ended(struct dentry* dentry, u64 result) {
  if ((int)result >= 0 || (int)result < -4095) name_changed(dentry, dentry->d_sb);
}

SEC("fexit/vfs_create")
int BPF_PROG(others_create_ended, void* ids, struct inode* directory, struct dentry* dentry, u16 mode, u8 exclusive, int result) {
  name_change_ended(dentry, result);
  return 0;
}

SEC("fexit/vfs_mkdir")
int BPF_PROG(others_mkdir_ended, void* ids, struct inode* directory, struct dentry* dentry, u16 mode, u64 result) {
  name_change_ended(dentry, result);
  return 0;
}

SEC("fexit/vfs_mknod")
int BPF_PROG(others_mknod_ended, void* ids, struct inode* directory, struct dentry* dentry, u16 mode, u32 device, int result) {
  name_change_ended(dentry, result);
  return 0;
}

SEC("fexit/vfs_link")
int BPF_PROG(others_link_ended, struct dentry* old, void* ids, struct inode* directory, struct dentry* dentry, void* delegated,
             int result) {
  name_change_ended(dentry, result);
  return 0;
}

SEC("fexit/vfs_unlink")
int BPF_PROG(others_unlink_ended, void* ids, struct inode* directory, struct dentry* dentry, void* delegated, int result) {
  name_change_ended(dentry, result);
  return 0;
}

SEC("fexit/vfs_rmdir")
int BPF_PROG(others_rmdir_ended, void* ids, struct inode* directory, struct dentry* dentry, int result) {
  name_change_ended(dentry, result);
  return 0;
}

// A rename that is made. Either name may lie below the directory.
inline_always void moves(struct dentry* from, struct dentry* to) {
  if (!on_fence(from->d_sb)) return;
  name_changed(at_or_below(from) > 0 ? from : to, from->d_sb);
}

SEC("fentry/d_move")
int BPF_PROG(others_move, struct dentry* from, struct dentry* to) {
  moves(from, to);
  return 0;
}

SEC("fentry/d_exchange")
int BPF_PROG(others_exchange, struct dentry* from, struct dentry* to) {
  moves(from, to);
  return 0;
}
