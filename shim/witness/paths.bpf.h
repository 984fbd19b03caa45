// SPDX-License-Identifier: Apache-2.0
// Path walks: opens, and lookups that fail. At the end of a walk, struct nameidata still has the last inode and the last name.
// The inode is the directory whose entry is missing, or the file that was refused.
#pragma once

#include "others.bpf.h"
#include "state.bpf.h"
#include "system_calls.bpf.h"

// True: nothing follows the last name that was read, so the walk had come to the end of its path.
inline_always int at_the_end(struct nameidata* walk) {
  char next = 0;
  bpf_probe_read_kernel(&next, 1, walk->last.name + (walk->last.len & (kWitnessName - 1)));
  return next != '/';
}

// An operation on the last name of a walk, which ended in a directory that has no such file.
struct missing {
  u32 kind, flags, mode;
  s64 result;
  struct witness_place directory;
};

inline_always void send_missing_as(struct call* call, u32 layout, const struct missing* what, const struct qstr* name) {
  struct witness_record* r = record_in(call, what->kind, layout, what->result);
  if (!r) return;
  r->flags = what->flags;
  r->mode = what->mode;
  r->parent = what->directory;
  r->name_length = copy_name(r->text, name, layout == kWitnessShort ? kWitnessShortName : kWitnessName, kTyped);
  send(r);
}

inline_always void send_missing(struct missing* what, struct dentry* directory, struct nameidata* walk) {
  struct call* call = call_if_any();
  place_of(walk->inode, &what->directory, kTyped);
  send_place_of(call, directory, &what->directory);
  if (walk->last.len < kWitnessShortName)
    send_missing_as(call, kWitnessShort, what, &walk->last);
  else
    send_missing_as(call, kWitnessNames, what, &walk->last);
}

// `directory`: dentry of the inode at which a walk ended, mostly that of its path as well, whose type is known.
inline_always int ended_below(struct nameidata* walk, struct dentry* directory) {
  struct dentry* last = walk->path.dentry;
  struct super_block* super = walk->inode->i_sb;
  u64 address = (u64)last;
  barrier_var(address);  // else the compiler takes one pointer for the other, whose type the verifier does not know
  return address == (u64)directory ? below(last, super, kTyped) : below(directory, super, kAddress);
}

// A directory on the way may not be searched.
inline_always void refused_way(struct dentry* directory, s64 result) {
  SEND_NAMED(kWitnessAccess, result, directory, kAddress, r->mode = 1);  // X_OK
}

inline_always int is_directory(struct inode* inode) { return (inode->i_mode & S_IFMT) == S_IFDIR; }

// The walk itself failed. Errors that the kernel finds by itself, without the file system, are no operations.
inline_always void walk_failed(struct nameidata* walk, s64 result) {
  if (result == -ECHILD || result == -ESTALE || result == -ENOTDIR || result == -ELOOP || result == -ENAMETOOLONG) return;
  struct inode* inode = walk->inode;
  if (!inode || !is_directory(inode)) return;
  struct dentry* directory = dentry_of(inode);
  if (!directory || !ended_below(walk, directory)) return;
  if (result == -EACCES) return refused_way(directory, result);
  struct missing what = {.kind = kWitnessLookup, .result = result};
  send_missing(&what, directory, walk);
}

SEC("fexit/path_lookupat")
int BPF_PROG(lookup_ended, struct nameidata* walk, u32 flags, struct path* path, int result) {
  if (result == 0) {
    if (!in_access() || !captured_path(path)) return 0;
    struct call* call = call_if_any();
    if (call) call->looked_up = (u64)path->dentry;
  } else if (captured_thread()) {
    walk_failed(walk, result);
  }
  return 0;
}

// Keeps the last name of a path whose entry a call is going to change.
inline_always void parent_found(struct path* parent, struct qstr* last) {
  struct call* call = call_if_any();
  if (!call || call->parents[1] || !captured_path(parent)) return;
  const u64 directory = (u64)parent->dentry;
  if (!call->parents[0]) {
    call->parents[0] = directory;
    call->last_length[0] = copy_name(call->last[0], last, kWitnessName, kTyped);
  } else {
    call->parents[1] = directory;
    call->last_length[1] = copy_name(call->last[1], last, kWitnessName, kTyped);
  }
}

SEC("fexit/path_parentat")
int BPF_PROG(parent_ended, struct nameidata* walk, u32 flags, struct path* parent, int result) {
  if (!captured_thread()) return 0;
  if (result == 0)
    parent_found(parent, &walk->last);
  else
    walk_failed(walk, result);
  return 0;
}

// For kernels whose compiler has left no path_parentat (6.18): a walk that fails is not seen.
SEC("fexit/__filename_parentat")
int BPF_PROG(filename_parent_ended, int fd, struct filename* name, u32 flags, struct path* parent, struct qstr* last, int* type,
             const struct path* root, int result) {
  if (result == 0 && captured_thread()) parent_found(parent, last);
  return 0;
}

// A name that a change of names did not find: the first one, but for an exchange, of which nothing tells which one was missing.
// There it is the second, because programs try whether it exists; the operation is marked as inferred.
inline_always void last_name_failed(s64 result, int exchanges) {
  if (result != -ENOENT) return;
  struct call* call = call_if_any();
  if (!call || !call->parents[0] || call->change.kind) return;
  const int second = exchanges && call->parents[1];
  struct dentry* directory = (struct dentry*)(second ? call->parents[1] : call->parents[0]);
  const struct witness_place place = send_place(call, directory, kAddress);
  struct witness_record* r = record_in(call, kWitnessLookup, kWitnessNames, result);
  if (!r) return;
  r->parent = place;
  r->marks = second ? kWitnessInferred : 0;
  r->name_length = second ? call->last_length[1] : call->last_length[0];
  if (second)
    __builtin_memcpy(r->text, call->last[1], kWitnessName);
  else
    __builtin_memcpy(r->text, call->last[0], kWitnessName);
  send(r);
}

inline_always void open_failed(struct nameidata* walk, u32 flags, u32 mode, s64 result) {
  if (result == -EEXIST || result == -EISDIR || result == -ENXIO) return;
  struct inode* inode = walk->inode;
  if (!inode) return;
  const int directory = is_directory(inode);
  if (result == -ENOENT || !at_the_end(walk)) return walk_failed(walk, result);
  struct dentry* dentry = dentry_of(inode);
  if (!dentry || !ended_below(walk, dentry) || result == -ECHILD || result == -ESTALE || result == -ENOTDIR || result == -ELOOP)
    return;
  if (directory && (flags & O_CREAT)) {
    struct missing what = {.kind = kWitnessCreate, .flags = flags, .result = result};
    what.mode = mode & ~BPF_CORE_READ(bpf_get_current_task_btf(), fs, umask);
    return send_missing(&what, dentry, walk);
  }
  SEND_NAMED(kWitnessOpen, result, dentry, kAddress, {
    r->flags = flags;
    if (directory) r->marks = kWitnessOfDirectory;
  });
}

SEC("fexit/path_openat")
int BPF_PROG(open_ended, struct nameidata* walk, const struct open_flags* how, u32 walk_flags, struct file* file) {
  s64 result = 0;
  bpf_get_func_ret(ctx, (u64*)&result);  // as a number: with a pointer the verifier allows no comparisons
  if (result < 0 && result >= -4095) {
    if (captured_thread()) open_failed(walk, how->open_flag, how->mode, result);
    return 0;
  }
  if (!captured_open(file)) {
    if (file->f_mode & FMODE_CREATED) name_changed(file->f_path.dentry, file->f_inode->i_sb);
    return 0;
  }
  const u32 flags = how->open_flag;
  u32 kind = kWitnessOpen;
  if (flags & O_TMPFILE_ALONE)
    kind = kWitnessTmpfile;
  else if (file->f_mode & FMODE_CREATED)
    kind = kWitnessCreate;
  SEND_NAMED(kind, 0, file->f_path.dentry, kTyped, {
    r->file = (u64)file;
    r->flags = flags;
    r->mode = how->mode;
    if ((r->object.mode & S_IFMT) == S_IFDIR) r->marks = kWitnessOfDirectory;
  });
  return 0;
}
