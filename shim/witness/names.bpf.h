// SPDX-License-Identifier: Apache-2.0
// Changes of names. The hook of a path knows the mount and the file before the change; its record is made when the call ends,
// with the result.
#pragma once

#include "others.bpf.h"
#include "paths.bpf.h"
#include "state.bpf.h"

// With everywhere: whether a change has only one of its two names inside. It is counted.
inline_always int crosses(int from, int to) {
  if (from == to) return 0;
  __sync_fetch_and_add(&crossings, 1);
  return 1;
}

// Notes a change of `dentry` in a directory. Null: it is not captured.
inline_always struct change* change_begins(u32 kind, const struct path* directory, struct dentry* dentry) {
  if (!captured_path(directory)) return 0;
  struct call* call = call_of_thread();
  if (!call) {
    note_lost(kWitnessNoMemory);
    return 0;
  }
  struct change* change = &call->change;
  change->parent = send_place(call, directory->dentry, kTyped);
  change->kind = kind;
  change->mode = change->flags = change->device = 0;
  change->dentry = dentry;
  change->object.number = 0;
  change->replaced.number = 0;
  change->other.number = 0;
  change->name2_length = 0;
  change->name_length = copy_name(change->name, &dentry->d_name, kWitnessName, kTyped);
  return change;
}

inline_always struct witness_record* change_record(struct call* call, u32 kind, u32 layout, s64 result, int made) {
  struct change* change = &call->change;
  struct witness_record* r = record_in(call, kind, layout, result);
  if (!r) return 0;
  r->object = change->object;
  struct dentry* dentry = change->dentry;
  if (made && result == 0) describe(BPF_CORE_READ(dentry, d_inode), &r->object, kAddress);
  r->parent = change->parent;
  r->other = change->other;
  r->replaced = change->replaced;
  r->flags = change->flags;
  r->mode = change->mode;
  r->offset = change->device;
  r->name_length = change->name_length;
  __builtin_memcpy(r->text, change->name, layout == kWitnessShort ? kWitnessShortName : kWitnessName);
  return r;
}

// Sends the change that began in this call. `made`: the name stands for a new file now. Returns whether a record was sent.
inline_always int change_ended(u32 kind, s64 result, int made) {
  struct call* call = call_if_any();
  if (!call || call->change.kind != kind) return 0;
  struct change* change = &call->change;
  change->kind = 0;
  struct witness_record* r;
  if (!change->name2_length && change->name_length < kWitnessShortName) {
    r = change_record(call, kind, kWitnessShort, result, made);
    if (r) send(r);
    return r != 0;
  }
  r = change_record(call, kind, kWitnessNames, result, made);
  if (!r) return 0;
  if (change->name2_length) {
    r->text_length = change->name2_length;
    __builtin_memcpy(r->text + kWitnessName, change->name2, kWitnessName);
  }
  send(r);
  return 1;
}

// The record of a directory that was made tells where it lies. Without generations its number may be that of another one, made by
// others or removed, of which nothing is told.
inline_always void place_told(struct call* call) {
  if (!call || !call->change.object.number || !call->change.object.generation) return;
  const struct witness_place made = {call->change.object.number, call->change.object.generation};
  u32 losses;
  if (is_place(&call->change.parent, &root_place)) {
    losses = places_lost;
  } else {
    const struct near* above = &call->near[call->change.parent.number % kNear];
    if (!is_place(&above->place, &call->change.parent)) return;
    losses = above->losses;
  }
  struct near* near = &call->near[made.number % kNear];
  near->place = made;
  near->losses = losses;
  bpf_map_update_elem(&places, &made, &losses, BPF_ANY);
}

SEC("fentry/security_path_mkdir")
int BPF_PROG(mkdir_begins, const struct path* directory, struct dentry* dentry, u16 mode) {
  struct change* change = change_begins(kWitnessMkdir, directory, dentry);
  if (change) change->mode = mode;
  return 0;
}

SEC("fexit/do_mkdirat")
int BPF_PROG(mkdir_ended, int fd, struct filename* name, u16 mode, int result) {
  if (change_ended(kWitnessMkdir, result, 0) && result == 0) place_told(call_if_any());
  return 0;
}

inline_always int makes_node(void) {
  struct call* call = call_if_any();
  if (call) call->makes_node = 1;
  return 0;
}

SEC("fentry/do_mknodat")
int BPF_PROG(mknod_called) { return makes_node(); }

// bind(2) of a Unix socket to a path.
SEC("fentry/unix_bind")
int BPF_PROG(bind_called) { return makes_node(); }

// Also called by open(2) with O_CREAT, which ends elsewhere.
SEC("fentry/security_path_mknod")
int BPF_PROG(mknod_begins, const struct path* directory, struct dentry* dentry, u16 mode, u32 device) {
  struct call* call = call_if_any();
  if (!call || !call->makes_node) return 0;
  struct change* change = change_begins(kWitnessMknod, directory, dentry);
  if (!change) return 0;
  change->mode = mode;
  change->device = device;
  return 0;
}

SEC("fexit/do_mknodat")
int BPF_PROG(mknod_ended, int fd, struct filename* name, u16 mode, u32 device, int result) {
  change_ended(kWitnessMknod, result, 1);
  return 0;
}

SEC("fexit/unix_bind")
int BPF_PROG(bind_ended, void* socket, void* address, int length, int result) {
  change_ended(kWitnessMknod, result, 1);
  return 0;
}

SEC("fentry/security_path_symlink")
int BPF_PROG(symlink_begins, const struct path* directory, struct dentry* dentry, const char* target) {
  change_begins(kWitnessSymlink, directory, dentry);
  return 0;
}

// Here the target still exists.
SEC("fexit/vfs_symlink")
int BPF_PROG(symlink_ended, void* ids, struct inode* directory, struct dentry* dentry, const char* target) {
  const int result = result_of(ctx);
  struct call* call = call_if_any();
  if (!call || call->change.kind != kWitnessSymlink) {
    name_change_ended(dentry, result);
    return 0;
  }
  struct change* change = &call->change;
  change->kind = 0;
  struct witness_record* r = record_in(call, kWitnessSymlink, kWitnessText, result);
  if (!r) return 0;
  if (result == 0) describe(dentry->d_inode, &r->object, kTyped);
  r->parent = change->parent;
  r->name_length = change->name_length;
  __builtin_memcpy(r->text, change->name, kWitnessName);
  const long bytes = bpf_probe_read_kernel_str(r->text + kWitnessName, kWitnessPath, target);
  r->text_length = bytes > 0 ? bytes - 1 : 0;
  send(r);
  return 0;
}

SEC("fentry/security_path_link")
int BPF_PROG(link_begins, struct dentry* old, const struct path* directory, struct dentry* dentry) {
  if (everywhere && crosses(below(old, old->d_sb, kTyped), captured_path(directory))) return 0;
  struct change* change = change_begins(kWitnessLink, directory, dentry);
  if (!change) return 0;
  // The name that the file has already goes before: the trace may not know the file yet.
  describe(old->d_inode, &change->object, kTyped);
  change->other = change->parent;
  change->parent = send_place(call_if_any(), old->d_parent, kTyped);
  __builtin_memcpy(change->name2, change->name, kWitnessName);
  change->name2_length = change->name_length;
  change->name_length = copy_name(change->name, &old->d_name, kWitnessName, kTyped);
  return 0;
}

SEC("fexit/do_linkat")
int BPF_PROG(link_ended, int fd, struct filename* old, int new_fd, struct filename* name, int flags, int result) {
  change_ended(kWitnessLink, result, 0);
  return 0;
}

inline_always void removal_begins(u32 kind, const struct path* directory, struct dentry* dentry) {
  struct change* change = change_begins(kind, directory, dentry);
  if (change) describe(dentry->d_inode, &change->object, kTyped);
}

inline_always void removal_ended(u32 kind, s64 result) {
  last_name_failed(result, 0);
  change_ended(kind, result, 0);
}

SEC("fentry/security_path_unlink")
int BPF_PROG(unlink_begins, const struct path* directory, struct dentry* dentry) {
  removal_begins(kWitnessUnlink, directory, dentry);
  return 0;
}

SEC("fexit/do_unlinkat")
int BPF_PROG(unlink_ended, int fd, struct filename* name, int result) {
  removal_ended(kWitnessUnlink, result);
  return 0;
}

SEC("fentry/security_path_rmdir")
int BPF_PROG(rmdir_begins, const struct path* directory, struct dentry* dentry) {
  removal_begins(kWitnessRmdir, directory, dentry);
  return 0;
}

SEC("fexit/do_rmdir")
int BPF_PROG(rmdir_ended, int fd, struct filename* name, int result) {
  removal_ended(kWitnessRmdir, result);
  return 0;
}

SEC("fentry/security_path_rename")
int BPF_PROG(rename_begins, const struct path* old_directory, struct dentry* old, const struct path* new_directory,
             struct dentry* dentry, u32 flags) {
  if (everywhere && crosses(captured_path(old_directory), captured_path(new_directory))) return 0;
  struct change* change = change_begins(kWitnessRename, old_directory, old);
  if (!change) return 0;
  change->other = send_place(call_if_any(), new_directory->dentry, kTyped);
  describe(old->d_inode, &change->object, kTyped);
  change->flags = flags;
  place_of(dentry->d_inode, &change->replaced, kTyped);
  change->mode = dentry->d_inode ? dentry->d_inode->i_nlink : 0;
  change->name2_length = copy_name(change->name2, &dentry->d_name, kWitnessName, kTyped);
  return 0;
}

SEC("fexit/do_renameat2")
int BPF_PROG(rename_ended, int fd, struct filename* from, int new_fd, struct filename* to, u32 flags, int result) {
  last_name_failed(result, flags & RENAME_EXCHANGE);
  change_ended(kWitnessRename, result, 0);
  return 0;
}
