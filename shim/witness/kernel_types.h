// SPDX-License-Identifier: Apache-2.0
// The members of the kernel's structures that witness.bpf.c reads. libbpf finds their places in the running kernel (CO-RE).
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr {
  union {
    struct {
      u32 hash;
      u32 len;
    };
    u64 hash_len;
  };
  const unsigned char* name;
};

struct hlist_node {
  struct hlist_node* next;
};

struct hlist_head {
  struct hlist_node* first;
};

struct super_block {
  u32 s_dev;
  unsigned long s_magic;
  struct dentry* s_root;
};

typedef struct {
  u32 val;
} kuid_t;

typedef struct {
  u32 val;
} kgid_t;

struct inode {
  u16 i_mode;
  kuid_t i_uid;
  kgid_t i_gid;
  struct super_block* i_sb;
  unsigned long i_ino;
  union {
    const u32 i_nlink;
    u32 __i_nlink;
  };
  u32 i_rdev;
  s64 i_size;
  u64 i_blocks;
  struct hlist_head i_dentry;
  u32 i_generation;
  union {
    char* i_link;
  };
};

struct btrfs_root {
  u32 anon_dev;
};

struct btrfs_inode {
  struct btrfs_root* root;
  struct inode vfs_inode;
};

struct dentry {
  struct dentry* d_parent;
  struct qstr d_name;
  struct inode* d_inode;
  struct super_block* d_sb;
  union {
    struct hlist_node d_alias;
  } d_u;
};

// Linux 7.0 and newer.
struct dentry___7 {
  struct hlist_node d_alias;
};

struct vfsmount {
  struct dentry* mnt_root;
};

struct path {
  struct vfsmount* mnt;
  struct dentry* dentry;
};

struct file {
  struct path f_path;
  struct inode* f_inode;
  u32 f_flags;
  u32 f_mode;
  s64 f_pos;
};

struct vm_area_struct {
  unsigned long vm_start, vm_pgoff, vm_flags;
  struct file* vm_file;
};

enum fault_flag { FAULT_FLAG_WRITE = 1 };

struct vm_fault {
  struct vm_area_struct* vma;
  unsigned long pgoff;
  enum fault_flag flags;
};

struct nameidata {
  struct path path;
  struct qstr last;
  struct inode* inode;
  u32 flags;
};

struct timespec64 {
  s64 tv_sec;
  long tv_nsec;
};

struct iattr {
  u32 ia_valid;
  u16 ia_mode;
  union {
    kuid_t ia_uid;
  };
  union {
    kgid_t ia_gid;
  };
  s64 ia_size;
  struct timespec64 ia_atime;
  struct timespec64 ia_mtime;
};

struct mnt_namespace;
struct nsproxy {
  struct mnt_namespace* mnt_ns;
};

struct cred {
  kuid_t fsuid;
  kgid_t fsgid;
};

struct thread_info {
  unsigned long flags;
  u32 status;  // x86 alone
};

struct fs_struct {
  int umask;
};

struct task_struct {
  struct thread_info thread_info;
  u32 __state;
  u32 flags;
  int pid;
  int tgid;
  struct task_struct* real_parent;
  const struct cred* cred;
  struct nsproxy* nsproxy;
  struct fs_struct* fs;
  struct files_struct* files;
  u64 start_boottime;
  char comm[16];
};

struct iovec {
  void* iov_base;
  unsigned long iov_len;
};

struct flock {
  short l_type;
  short l_whence;
  s64 l_start;
  s64 l_len;
  int l_pid;
};

struct file_lock {
  struct file* fl_file;
  u32 fl_flags;
  unsigned char fl_type;
};

struct open_flags {
  int open_flag;
  u16 mode;
};

// Linux 6.9 and newer have file_lock___new.
struct file_lock_core {
  struct file* flc_file;
  u32 flc_flags;
  unsigned char flc_type;
};

struct file_lock___new {
  struct file_lock_core c;
};

struct io_cqe {
  u64 user_data;
  int res;
};

struct io_wq_work {
  u32 flags;
};

struct io_kiocb {
  union {
    struct file* file;
  };
  u8 opcode;
  u64 flags;
  struct io_cqe cqe;
  struct task_struct* task;
  struct io_wq_work work;
};

// Linux 6.13 and newer.
struct io_uring_task {
  struct task_struct* task;
};

struct io_kiocb___6_13 {
  struct io_uring_task* tctx;
};

struct kiocb {
  struct file* ki_filp;
  s64 ki_pos;
};

// The beginning of io_kiocb, for reads and writes.
struct io_rw {
  struct kiocb kiocb;
  u64 addr;
  u32 len;
};

struct iocb {
  u64 aio_buf;
  u64 aio_nbytes;
  s64 aio_offset;
};

struct fdtable {
  u32 max_fds;
  struct file** fd;
};

struct files_struct {
  struct fdtable* fdt;
};

// The registers with the arguments of a system call.
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
  unsigned long di, si, dx, r10, ax, orig_ax;
};
#define SYSTEM_CALL(name) "fexit/__x64_sys_" name
#define ARGUMENT_1(registers) BPF_CORE_READ(registers, di)
#define ARGUMENT_2(registers) BPF_CORE_READ(registers, si)
#define ARGUMENT_3(registers) BPF_CORE_READ(registers, dx)
#define ARGUMENT_4(registers) BPF_CORE_READ(registers, r10)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
  u64 regs[31];
  int syscallno;
};
#define SYSTEM_CALL(name) "fexit/__arm64_sys_" name
#define ARGUMENT_1(registers) BPF_CORE_READ(registers, regs[0])
#define ARGUMENT_2(registers) BPF_CORE_READ(registers, regs[1])
#define ARGUMENT_3(registers) BPF_CORE_READ(registers, regs[2])
#define ARGUMENT_4(registers) BPF_CORE_READ(registers, regs[3])
#endif

struct bpf_iter__task {
  struct task_struct* task;
};

struct posix_acl_entry {
  short e_tag;
  u16 e_perm;
  u32 e_uid;
};

struct posix_acl {
  u32 a_count;
  struct posix_acl_entry a_entries[0];
};

struct filename;
struct dir_context;
struct kstat;

#pragma clang attribute pop
