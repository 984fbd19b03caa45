// SPDX-License-Identifier: Apache-2.0
// The ring, and how a record is made.
#pragma once

#include "call.bpf.h"
#include "common.bpf.h"
#include "fence.bpf.h"
#include "left_out.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} ring SEC(".maps");

// Directories whose place has been sent.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 65536);
  __type(key, struct witness_place);
  __type(value, u32);  // `places_lost` when it was sent
} places SEC(".maps");
// Counts lost records of places. After a loss all places are sent anew, because known ones may lie below a lost one.
__u32 places_lost = 0;

inline_always struct dentry* dentry_of(struct inode* inode) {
  struct hlist_node* first = BPF_CORE_READ(inode, i_dentry.first);
  if (!first) return 0;
  if (bpf_core_field_exists(struct dentry, d_u.d_alias))
    return (struct dentry*)((u64)first - bpf_core_field_offset(struct dentry, d_u.d_alias));
  return (struct dentry*)((u64)first - bpf_core_field_offset(struct dentry___7, d_alias));
}

// Inodes of Btrfs's subvolumes have the same numbers and generations, and another device in stat(2).
inline_always u64 generation_of(struct inode* inode, int how) {
  const u32 generation = MEMBER(how, inode, i_generation);
  if (!fence_of_volumes || !bpf_core_type_exists(struct btrfs_inode)) return generation;
  struct btrfs_inode* outer = (void*)((u64)inode - bpf_core_field_offset(struct btrfs_inode, vfs_inode));
  return (u64)BPF_CORE_READ(outer, root, anon_dev) << 32 | generation;
}

inline_always void describe(struct inode* inode, struct witness_inode* to, int how) {
  if (!inode) return;
  to->number = MEMBER(how, inode, i_ino);
  to->size = MEMBER(how, inode, i_size);
  to->blocks = MEMBER(how, inode, i_blocks);
  to->generation = generation_of(inode, how);
  to->mode = MEMBER(how, inode, i_mode);
  to->uid = MEMBER(how, inode, i_uid.val);
  to->gid = MEMBER(how, inode, i_gid.val);
  to->links = MEMBER(how, inode, i_nlink);
  to->device = MEMBER(how, inode, i_rdev);
}

inline_always void place_of(struct inode* inode, struct witness_place* to, int how) {
  if (!inode) return;
  to->number = MEMBER(how, inode, i_ino);
  to->generation = generation_of(inode, how);
}

// Copies a name. Returns its length, at most kLongestName.
inline_always u32 copy_name(char* to, const struct qstr* name, u32 room, int how) {
  const u32 length = MEMBER(how, name, len);
  const u32 bytes = length < room ? length & (kWitnessName - 1) : room - 1;
  bpf_probe_read_kernel(to, bytes & (kWitnessName - 1), MEMBER(how, name, name));
  return bytes;
}

inline_always void act_for(struct witness_record* r, struct task_struct* task) {
  r->tid = BPF_CORE_READ(task, pid);
  r->task_start = BPF_CORE_READ(task, start_boottime);
  bpf_probe_read_kernel(r->comm, sizeof r->comm, task->comm);
}

inline_always void name_caller(struct witness_record* r, struct task_struct* task) {
  r->tid = task->pid;
  r->pid = task->tgid;
  r->parent_pid = task->real_parent->tgid;
  const struct cred* cred = task->cred;
  r->uid = cred->fsuid.val;
  r->gid = cred->fsgid.val;
  r->task_start = task->start_boottime;
  const u64* comm = (const u64*)task->comm;
  ((u64*)r->comm)[0] = comm[0];
  ((u64*)r->comm)[1] = comm[1];
}

// Fills in all but the names, file, object and arguments, which are then 0.
inline_always void head(struct call* call, struct witness_record* r, u32 kind, u32 layout, s64 result) {
  struct task_struct* task = bpf_get_current_task_btf();
  const u64 now = bpf_ktime_get_ns();
  // Members before and behind these are set below.
  __builtin_memset(&r->object, 0, offsetof(struct witness_record, tid) - offsetof(struct witness_record, object));
  r->kind = kind;
  r->layout = layout;
  r->end = now;
  r->start = now;
  if (call) {
    if (call->start) r->start = call->start;
    call->start = now;
    call->told = 1;
  }
  r->result = result;
  name_caller(r, task);
  if (call && call->submitter) act_for(r, (struct task_struct*)call->submitter);
}

#define RESERVE(bytes) ((struct witness_record*)bpf_ringbuf_reserve(&ring, sizeof(struct witness_record) + (bytes), 0))

// Returns room for a record of a constant layout. Null: the ring is full, or the record is left out; both are counted.
inline_always struct witness_record* record_in(struct call* call, u32 kind, u32 layout, s64 result) {
  if (left_out(kind)) {
    if (call && call->start) call->start = bpf_ktime_get_ns();
    return 0;
  }
  struct witness_record* r = 0;
  if (layout == kWitnessBare) r = RESERVE(0);
  if (layout == kWitnessShort) r = RESERVE(kWitnessShortName);
  if (layout == kWitnessNames) r = RESERVE(2 * kWitnessName);
  if (layout == kWitnessText) r = RESERVE(kWitnessName + kWitnessPath);
  if (layout == kWitnessValue) r = RESERVE(2 * kWitnessName + kWitnessPath);
  if (!r) {
    note_lost(kWitnessNoRoom);
    return 0;
  }
  head(call, r, kind, layout, result);
  return r;
}

inline_always struct witness_record* record(u32 kind, u32 layout, s64 result) {
  return record_in(call_if_any(), kind, layout, result);
}

inline_always void send(struct witness_record* r) { bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP); }

// Whether the place of a directory has been sent, as of `losses`.
inline_always int is_known(const struct witness_place* place, u32 losses) {
  const u32* known = bpf_map_lookup_elem(&places, place);
  return known && *known == losses;
}

struct climb {
  struct dentry* at;
};

// Sends where one directory lies, and goes on to the one above. Returns 1 at the directory that is captured, or at a known one.
static long climb_one(u32 index, struct climb* climb) {
  struct dentry* dentry = climb->at;
  if ((u64)dentry == fence_root) return 1;
  struct dentry* up = BPF_CORE_READ(dentry, d_parent);
  if (up == dentry) return 1;
  struct inode* inode = BPF_CORE_READ(dentry, d_inode);
  struct witness_place place = {};
  place_of(inode, &place, kAddress);
  const u32 losses = places_lost;
  if (is_known(&place, losses)) return 1;
  struct witness_record* r = RESERVE(2 * kWitnessName);
  if (!r) {
    note_lost(kWitnessNoRoom);
    __sync_fetch_and_add(&places_lost, 1);
    return 1;
  }
  __builtin_memset(r, 0, sizeof *r);
  r->kind = kWitnessPlace;
  r->layout = kWitnessNames;
  r->start = r->end = bpf_ktime_get_ns();
  describe(inode, &r->object, kAddress);
  place_of(BPF_CORE_READ(up, d_inode), &r->parent, kAddress);
  r->name_length = copy_name(r->text, &dentry->d_name, kWitnessName, kAddress);
  send(r);
  bpf_map_update_elem(&places, &place, &losses, BPF_ANY);
  climb->at = up;
  return 0;
}

inline_always int is_place(const struct witness_place* a, const struct witness_place* b) {
  return a->number == b->number && a->generation == b->generation;
}

// Returns what bpf_loop() returns, which is kDeepest if the path is too deep. `directory`: the address of a dentry. Inlined, it
// would make copies of checks that older verifiers don't follow.
static __noinline long climb_from(u64 directory, const struct witness_place* place, u32 losses) {
  if (is_known(place, losses)) return 0;
  struct climb climb = {.at = (struct dentry*)directory};
  return bpf_loop(kDeepest, climb_one, &climb, 0);
}

// Sends where a directory lies, unless that is known.
inline_always void send_place_of(struct call* call, struct dentry* directory, const struct witness_place* place) {
  const u32 losses = places_lost;
  struct near* near = call ? &call->near[place->number % kNear] : 0;
  if (near && is_place(&near->place, place) && near->losses == losses) return;
  if (climb_from((u64)directory, place, losses) == kDeepest) note_lost(kWitnessTooDeep);
  if (!near) return;
  near->place = *place;
  near->losses = losses;
}

// Returns the place.
inline_always struct witness_place send_place(struct call* call, struct dentry* directory, int how) {
  if ((u64)directory == fence_root) return root_place;
  struct witness_place place = {};
  place_of(MEMBER(how, directory, d_inode), &place, how);
  send_place_of(call, directory, &place);
  return place;
}

// Makes a record with the object, parent and name of a dentry.
inline_always struct witness_record* named_record_as(u32 kind, u32 layout, s64 result, struct dentry* dentry, int how) {
  struct dentry* up = MEMBER(how, dentry, d_parent);
  struct call* call = call_if_any();
  const struct witness_place place = send_place(call, up, how);
  struct witness_record* r = record_in(call, kind, layout, result);
  if (!r) return 0;
  describe(MEMBER(how, dentry, d_inode), &r->object, how);
  if ((u64)dentry == fence_root) return r;  // its own name lies outside
  r->parent = place;
  r->name_length = copy_name(r->text, &dentry->d_name, layout == kWitnessShort ? kWitnessShortName : kWitnessName, how);
  return r;
}

#define SEND_NAMED_AS(layout, kind, result, dentry, how, ...)                                \
  do {                                                                                       \
    struct witness_record* r = named_record_as((kind), (layout), (result), (dentry), (how)); \
    if (!r) break;                                                                           \
    __VA_ARGS__;                                                                             \
    send(r);                                                                                 \
  } while (0)

// Sends such a record `r`, which the last arguments fill in. Older verifiers don't follow a record that comes from one of two
// places, so that each layout is sent where it is made.
#define SEND_NAMED(kind, result, dentry, how, ...)                          \
  do {                                                                      \
    if (MEMBER((how), (dentry), d_name.len) < kWitnessShortName)            \
      SEND_NAMED_AS(kWitnessShort, kind, result, dentry, how, __VA_ARGS__); \
    else                                                                    \
      SEND_NAMED_AS(kWitnessNames, kind, result, dentry, how, __VA_ARGS__); \
  } while (0)

// Makes a record of an operation on an open file.
inline_always struct witness_record* file_record_in(struct call* call, u32 kind, s64 result, struct file* file) {
  struct witness_record* r = record_in(call, kind, kWitnessBare, result);
  if (!r) return 0;
  struct inode* inode = file->f_inode;
  r->file = (u64)file;
  r->object.number = inode->i_ino;
  r->object.generation = generation_of(inode, kTyped);
  r->object.mode = inode->i_mode;
  r->object.size = inode->i_size;
  return r;
}

inline_always struct witness_record* file_record(u32 kind, s64 result, struct file* file) {
  return file_record_in(call_if_any(), kind, result, file);
}
