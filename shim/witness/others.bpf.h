// SPDX-License-Identifier: Apache-2.0
// Counts changes of names below the directory that are not captured: by others, or through another mount. A replay lacks them.
#pragma once

#include "state.bpf.h"

// Counts a change of a name that was made, unless it is captured or lies too deep to tell where. Returns whether it counts.
inline_always int name_changed(struct dentry* dentry, struct super_block* super) {
  if (!on_fence(super) || bpf_get_current_pid_tgid() >> 32 == own_process) return 0;
  struct call* call = call_if_any();
  if (everywhere ? captured_thread() : call && call->change.kind) return 0;
  if (at_or_below(dentry, kTyped) <= 0) return 0;
  __sync_fetch_and_add(&names_of_others, 1);
  return 1;
}

// Tells that a file has no name any more, so that the capture can forget it. If the ring is half full, the capture keeps the file in
// mind, and room for what is captured. It always keeps directories: others may make one of the same number at once, and its place was
// sent before.
inline_always void removed(struct inode* inode) {
  if (inode->i_nlink || (inode->i_mode & S_IFMT) == S_IFDIR) return;
  if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 2) return;
  struct witness_record* r = RESERVE(0);
  if (!r) return;
  __builtin_memset(r, 0, sizeof *r);
  r->kind = kWitnessRemoved;
  r->layout = kWitnessBare;
  r->start = r->end = bpf_ktime_get_ns();
  describe(inode, &r->object, kTyped);
  send(r);
}

// `result`: 0, a negative errno, or, of newer kernels, half of a pointer that may stand for one.
inline_always void name_change_ended(struct dentry* dentry, int result) {
  if (result >= 0 || result < -4095) name_changed(dentry, dentry->d_sb);
}

SEC("fexit/vfs_create")
int BPF_PROG(others_create_ended, void* ids, struct inode* directory, struct dentry* dentry) {
  name_change_ended(dentry, result_of(ctx));
  return 0;
}

// The same where the function has no directory (7.0).
SEC("fexit/vfs_create")
int BPF_PROG(others_create_4_ended, void* ids, struct dentry* dentry) {
  name_change_ended(dentry, result_of(ctx));
  return 0;
}

SEC("fexit/vfs_mkdir")
int BPF_PROG(others_mkdir_ended, void* ids, struct inode* directory, struct dentry* dentry) {
  // Keeps a captured directory for its record, because the verifier knows its type here.
  struct call* call = call_if_any();
  if (call && call->change.kind == kWitnessMkdir && (u64)call->change.dentry == (u64)dentry)
    describe(dentry->d_inode, &call->change.object, kTyped);
  name_change_ended(dentry, result_of(ctx));
  return 0;
}

SEC("fexit/vfs_mknod")
int BPF_PROG(others_mknod_ended, void* ids, struct inode* directory, struct dentry* dentry) {
  name_change_ended(dentry, result_of(ctx));
  return 0;
}

SEC("fexit/vfs_link")
int BPF_PROG(others_link_ended, struct dentry* old, void* ids, struct inode* directory, struct dentry* dentry) {
  name_change_ended(dentry, result_of(ctx));
  return 0;
}

// The kernel calls d_delete() after a removal, by unlink(2), rmdir(2) or another machine.
SEC("fentry/d_delete")
int BPF_PROG(others_remove, struct dentry* dentry) {
  if (name_changed(dentry, dentry->d_sb)) removed(dentry->d_inode);
  return 0;
}

// A rename that is made. Either name may lie below the directory.
inline_always int moves(struct dentry* from, struct dentry* to) {
  return on_fence(from->d_sb) && name_changed(at_or_below(from, kTyped) > 0 ? from : to, from->d_sb);
}

SEC("fentry/d_move")
int BPF_PROG(others_move, struct dentry* from, struct dentry* to) {
  struct inode* replaced = to->d_inode;
  if (moves(from, to) && replaced) removed(replaced);
  return 0;
}

SEC("fentry/d_exchange")
int BPF_PROG(others_exchange, struct dentry* from, struct dentry* to) {
  moves(from, to);
  return 0;
}
