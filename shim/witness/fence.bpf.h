// SPDX-License-Identifier: Apache-2.0
// Decides what is captured: what goes through one mount, or with `everywhere` what the chosen threads do at and below one
// directory, through whichever mount.
#pragma once

#include "common.bpf.h"

// Set by the capture before the programs are loaded.
const volatile __u32 capture_command = 0;  // process whose mount namespace is captured: the command's; 0: that of capture_finder
const volatile __u32 everywhere = 0;       // no mount is compared
const volatile __u32 own_process = 0;      // the capture itself, which is left out
const volatile __u32 cgroups = 0;          // with everywhere: number of entries of chosen_cgroups; 0: all threads
__u32 capture_finder = 0;                  // thread whose next stat is of the captured directory, through the fence

// The fence. Found by the first stat of capture_finder.
__u64 fence_mount = 0, fence_root = 0, fence_device = 0;
struct witness_place root_place = {};
__u32 fence_whole = 0;       // the directory is the root of its file system
__u32 fence_of_volumes = 0;  // its file system is Btrfs
__u64 fence_namespace = 0;

struct {
  __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(u32));
  __uint(value_size, sizeof(u32));
} chosen_cgroups SEC(".maps");

// With everywhere: open files, by address, that a captured thread opened; the value is the inode's address. Another file at the
// same address, after a release that was not seen, has another one. Their number is bounded by the kernel's memory for open
// files.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);
  __type(key, u64);
  __type(value, u64);
} open_files SEC(".maps");

static __noinline int in_chosen_cgroup(void) {
  for (u32 i = 0; i < kWitnessCgroups && i < cgroups; ++i)
    if (bpf_current_task_under_cgroup(&chosen_cgroups, i) == 1) return 1;
  return 0;
}

// Threads of the kernel act for others, whom nothing names.
inline_always int captured_thread(void) {
  struct task_struct* task = bpf_get_current_task_btf();
  if (everywhere) return !(task->flags & PF_KTHREAD) && (u32)task->tgid != own_process && (!cgroups || in_chosen_cgroup());
  struct nsproxy* proxy = task->nsproxy;
  return proxy && fence_namespace && (u64)proxy->mnt_ns == fence_namespace;
}

// Returns whether a thread without state is captured. The namespace of the command is known from its first call.
inline_always int entered_fence(void) {
  if (everywhere) return fence_mount && captured_thread();
  struct nsproxy* proxy = bpf_get_current_task_btf()->nsproxy;
  if (!proxy) return 0;
  const u64 namespace = (u64)proxy->mnt_ns;
  if (namespace == fence_namespace) return 1;
  if (fence_namespace || (u32)bpf_get_current_pid_tgid() != capture_command) return 0;
  fence_namespace = namespace;
  return 1;
}

struct ascent {
  struct dentry* at;
  int found;
};

static long ascend(u32 index, struct ascent* ascent) {
  struct dentry* at = ascent->at;
  ascent->found = (u64)at == fence_root;
  struct dentry* up = BPF_CORE_READ(at, d_parent);
  if (ascent->found || up == at || !up) return 1;
  ascent->at = up;
  return 0;
}

// Returns whether the dentry, which is on the directory's file system, is the directory or lies below it. -1: too deep to tell.
inline_always int at_or_below(struct dentry* dentry, int how) {
  enum { kWithoutHelper = 8 };  // directories above a typed dentry; the verifier knows no type in a loop of bpf_loop()
  if (fence_whole) return 1;
  for (u32 i = 0; how == kTyped && i < kWithoutHelper; ++i) {
    if ((u64)dentry == fence_root) return 1;
    struct dentry* up = dentry->d_parent;
    if (up == dentry) return 0;
    dentry = up;
  }
  struct ascent ascent = {.at = dentry};
  return bpf_loop(kDeepest, ascend, &ascent, 0) == kDeepest && !ascent.found ? -1 : ascent.found;
}

// `super`: typed.
inline_always int on_fence(struct super_block* super) { return fence_mount && super->s_dev == fence_device; }

// Where no mount is known: whether a captured thread acts on something below the directory. One too deep to tell is lost.
// `super`: that of the dentry.
inline_always int below(struct dentry* dentry, struct super_block* super, int how) {
  if (!on_fence(super) || !captured_thread()) return 0;
  const int found = at_or_below(dentry, how);
  if (found < 0) note_lost(kWitnessTooDeep);
  return found > 0;
}

inline_always int through(struct vfsmount* mount) { return fence_mount && (u64)mount == fence_mount; }

// `path`: typed.
inline_always int captured_path(const struct path* path) {
  if (!everywhere) return through(path->mnt);
  struct dentry* dentry = path->dentry;
  return below(dentry, dentry->d_sb, kTyped);
}

inline_always int is_noted(struct file* file, struct inode* inode) {
  const u64 key = (u64)file;
  const u64* known = bpf_map_lookup_elem(&open_files, &key);
  return known && *known == (u64)inode;
}

// FIFOs, sockets and devices pass their data on without the file system.
inline_always int has_data(struct inode* inode, int how) {
  const u32 type = MEMBER(how, inode, i_mode) & S_IFMT;
  return type == S_IFREG || type == S_IFDIR;
}

// Whether a file is behind the fence. `how`: what is known of the file (MEMBER).
inline_always int is_of_fence(struct file* file, int how) {
  struct inode* inode = MEMBER(how, file, f_inode);
  if (!everywhere)
    return through(MEMBER(how, file, f_path.mnt)) && !(MEMBER(how, file, f_mode) & FMODE_PATH) && has_data(inode, how);
  if (!fence_mount) return 0;
  struct super_block* super = MEMBER(how, inode, i_sb);
  return MEMBER(how, super, s_dev) == fence_device && is_noted(file, inode);
}

inline_always int captured_file_as(struct file* file, int how) {
  return is_of_fence(file, how) && (!everywhere || captured_thread());
}

inline_always int captured_file(struct file* file) { return captured_file_as(file, kTyped); }

// Notes a file that this thread has opened. Returns whether it is captured.
inline_always int captured_open(struct file* file) {
  if (!everywhere) return captured_file(file);
  if ((file->f_mode & FMODE_PATH) || !has_data(file->f_inode, kTyped) || !captured_path(&file->f_path)) return 0;
  const u64 key = (u64)file, inode = (u64)file->f_inode;
  note_refused(bpf_map_update_elem(&open_files, &key, &inode, BPF_ANY), kWitnessTooManyFiles);
  return 1;
}

// True: an overlay of older kernels has opened this file of another file system for itself, under the path of its own file.
inline_always int is_of_overlay(struct file* file) { return file->f_inode->i_sb != file->f_path.dentry->d_sb; }

// Returns whether this is the last close of a captured file, by whichever thread.
inline_always int captured_release(struct file* file) {
  if (!everywhere) return captured_file(file) && !is_of_overlay(file);
  if (!on_fence(file->f_inode->i_sb)) return 0;
  const u64 key = (u64)file;
  const int known = is_noted(file, file->f_inode);
  return bpf_map_delete_elem(&open_files, &key) == 0 && known;
}
