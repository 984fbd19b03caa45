// SPDX-License-Identifier: Apache-2.0
// Attributes, permissions, symbolic links and extended attributes.
#pragma once

#include "state.bpf.h"

#define ATTR_SIZE 8
#define ATTR_FORCE 512
#define ATTR_OPEN 32768
#define POSIX_ACL_XATTR_VERSION 2

// Opens the fence. This stat is of the directory that is captured, by the capture itself.
inline_always void find_fence(const struct path* path) {
  struct dentry* dentry = path->dentry;
  fence_root = (u64)dentry;
  fence_device = dentry->d_sb->s_dev;
  fence_whole = (u64)dentry->d_sb->s_root == (u64)dentry;
  fence_of_volumes = dentry->d_sb->s_magic == BTRFS_SUPER_MAGIC;
  place_of(dentry->d_inode, &root_place, kTyped);
  if (!capture_command) fence_namespace = (u64)bpf_get_current_task_btf()->nsproxy->mnt_ns;
  fence_mount = (u64)path->mnt;
  capture_finder = 0;
}

SEC("fentry/security_inode_getattr")
int BPF_PROG(getattr_begins, const struct path* path) {
  if (!captured_path(path)) {
    if (capture_finder && (u32)bpf_get_current_pid_tgid() == capture_finder) find_fence(path);
    return 0;
  }
  if (bpf_get_current_pid_tgid() >> 32 == own_process) return 0;  // it looks at the directory at its end
  SEND_NAMED(kWitnessGetattr, 0, path->dentry, kTyped, {});
  return 0;
}

inline_always u64 ns(const struct timespec64* time) { return (u64)(time->tv_sec * 1000000000 + time->tv_nsec); }

SEC("fexit/notify_change")
int BPF_PROG(setattr_ended, void* ids, struct dentry* dentry, struct iattr* want, struct inode** delegated, int result) {
  const u32 valid = want->ia_valid;
  // Open with O_TRUNC is one operation. A write that takes set-id bits away is one as well.
  if ((valid & ATTR_OPEN) || ((valid & ATTR_FORCE) && !(valid & ATTR_SIZE))) return 0;
  if (!below(dentry, dentry->d_sb, kTyped)) return 0;
  SEND_NAMED(kWitnessSetattr, result, dentry, kTyped, {
    r->flags = valid;
    r->mode = want->ia_mode;
    r->owner = (u64)want->ia_uid.val << 32 | want->ia_gid.val;
    r->offset = want->ia_size;
    r->offset2 = ns(&want->ia_atime);
    r->length = ns(&want->ia_mtime);
  });
  return 0;
}

SEC("fexit/do_faccessat")
int BPF_PROG(access_ended, int fd, const char* name, int mode, int flags, long result) {
  struct call* call = call_if_any();
  if (!call || !call->looked_up) return 0;
  struct dentry* dentry = (struct dentry*)call->looked_up;
  SEND_NAMED(kWitnessAccess, result, dentry, kAddress, r->mode = mode);
  return 0;
}

inline_always void link_read(struct dentry* dentry) {
  if (!below(dentry, dentry->d_sb, kTyped)) return;
  struct call* call = call_if_any();
  const struct witness_place place = send_place(call, dentry->d_parent, kTyped);
  struct witness_record* r = record_in(call, kWitnessReadlink, kWitnessText, 0);
  if (!r) return;
  struct inode* inode = dentry->d_inode;
  describe(inode, &r->object, kTyped);
  r->parent = place;
  r->name_length = copy_name(r->text, &dentry->d_name, kWitnessName, kTyped);
  // Short targets are kept with the inode; others the capture doesn't know, unless it saw the link made.
  const char* target = inode->i_link;
  const long bytes = target ? bpf_probe_read_kernel_str(r->text + kWitnessName, kWitnessPath, target) : 0;
  r->text_length = bytes > 0 ? bytes - 1 : 0;
  send(r);
}

SEC("fentry/security_inode_readlink")
int BPF_PROG(readlink_begins, struct dentry* dentry) {
  link_read(dentry);
  return 0;
}

SEC("fentry/security_inode_follow_link")
int BPF_PROG(follow_begins, struct dentry* dentry) {
  link_read(dentry);
  return 0;
}

SEC("fentry/security_sb_statfs")
int BPF_PROG(statfs_begins, struct dentry* dentry) {
  if (!below(dentry, dentry->d_sb, kTyped)) return 0;
  SEND_NAMED(kWitnessStatfs, 0, dentry, kTyped, {});
  return 0;
}

// The name of an extended attribute lies where the target of a symbolic link would.
inline_always struct witness_record* attribute_record(u32 kind, u32 layout, s64 result, struct dentry* dentry,
                                                      const char* attribute, u64 size) {
  if (!below(dentry, dentry->d_sb, kTyped)) return 0;
  struct witness_record* r = named_record_as(kind, layout, result, dentry, kTyped);
  if (!r) return 0;
  const long bytes = attribute ? bpf_probe_read_kernel_str(r->text + kWitnessName, kWitnessName, attribute) : 0;
  r->text_length = bytes > 0 ? bytes - 1 : 0;
  r->length = size;
  return r;
}

inline_always void attribute_asked(u32 kind, s64 result, struct dentry* dentry, const char* attribute, u64 size) {
  struct witness_record* r = attribute_record(kind, kWitnessNames, result, dentry, attribute, size);
  if (r) send(r);
}

SEC("fexit/vfs_getxattr")
int BPF_PROG(getxattr_ended, void* ids, struct dentry* dentry, const char* name, void* value, u64 size, s64 result) {
  attribute_asked(kWitnessGetxattr, result, dentry, name, size);
  return 0;
}

// Values of user.* and trusted.* are content, which is not recorded.
inline_always int is_content(const char* name) {
  char first = 0;
  bpf_probe_read_kernel(&first, 1, name);
  return first == 'u' || first == 't';
}

// `bytes`: of the value; a longer one than the record has room for is left out.
inline_always void keep_value(struct witness_record* r, u32 at, const void* value, u64 bytes) {
  barrier_var(bytes);  // older verifiers forget the bound of what the compiler puts aside between the comparison and its use
  if (bytes > kWitnessPath - 4 || bpf_probe_read_kernel(r->text + 2 * kWitnessName + at, bytes, value) != 0) return;
  r->mode = at + bytes;
}

SEC("fexit/vfs_setxattr")
int BPF_PROG(setxattr_ended, void* ids, struct dentry* dentry, const char* name, const void* value, u64 size, int flags,
             int result) {
  const int content = is_content(name);
  struct witness_record* r =
      attribute_record(kWitnessSetxattr, content ? kWitnessNames : kWitnessValue, result, dentry, name, size);
  if (!r) return 0;
  u64 address = 0;
  bpf_get_func_arg(ctx, 3, &address);  // as a number: older verifiers refuse a pointer to constant bytes of no type
  if (!content) keep_value(r, 0, (const void*)address, size);
  r->flags = flags;
  send(r);
  return 0;
}

SEC("fexit/vfs_listxattr")
int BPF_PROG(listxattr_ended, struct dentry* dentry, char* list, u64 size, s64 result) {
  attribute_asked(kWitnessListxattr, result, dentry, 0, size);
  return 0;
}

SEC("fexit/vfs_removexattr")
int BPF_PROG(removexattr_ended, void* ids, struct dentry* dentry, const char* name, int result) {
  attribute_asked(kWitnessRemovexattr, result, dentry, name, 0);
  return 0;
}

// Linux 6.2 and newer have functions of their own for access control lists. An entry has the same form in the kernel's list and
// in the attribute's value, but for ids that mean nothing, which WitnessOps sets. The value begins with a version.
inline_always u64 acl_bytes(u64 list) {
  return list ? 4 + sizeof(struct posix_acl_entry) * BPF_CORE_READ((struct posix_acl*)list, a_count) : 0;
}

SEC("fexit/vfs_set_acl")
int BPF_PROG(set_acl_ended, void* ids, struct dentry* dentry, const char* name, struct posix_acl* list, int result) {
  const u64 bytes = acl_bytes((u64)list);
  struct witness_record* r = attribute_record(kWitnessSetxattr, kWitnessValue, result, dentry, name, bytes);
  if (!r) return 0;
  if (bytes > 4) {
    *(u32*)(r->text + 2 * kWitnessName) = POSIX_ACL_XATTR_VERSION;
    keep_value(r, 4, (const void*)((u64)list + bpf_core_field_offset(struct posix_acl, a_entries)), bytes - 4);
  }
  r->marks = kWitnessAcl;
  send(r);
  return 0;
}

SEC("fexit/vfs_get_acl")
int BPF_PROG(get_acl_ended, void* ids, struct dentry* dentry, const char* name) {
  s64 result = 0;
  bpf_get_func_ret(ctx, (u64*)&result);  // a list or an error
  const s64 outcome = result < 0 && result >= -4095 ? result : (s64)acl_bytes(result);
  attribute_asked(kWitnessGetxattr, outcome, dentry, name, kWitnessPath);
  return 0;
}

SEC("fexit/vfs_remove_acl")
int BPF_PROG(remove_acl_ended, void* ids, struct dentry* dentry, const char* name, int result) {
  attribute_asked(kWitnessRemovexattr, result, dentry, name, 0);
  return 0;
}
