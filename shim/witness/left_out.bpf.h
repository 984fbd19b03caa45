// SPDX-License-Identifier: Apache-2.0
// Leaves out what the rules of --only and --exclude do not want (early_filter.hpp), before a record is made of it. Counts it.
#pragma once

#include "common.bpf.h"

// Set by the capture before the programs are loaded.
const volatile __u64 early_kinds = 0;     // bits by witness_kind: those of which a record may be left out here
const volatile __u64 unwanted_kinds = 0;  // bits by witness_kind
const volatile __u32 id_rules = 0;        // bits by witness_id_rule: there are such rules

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);
  __type(key, struct witness_id);
  __type(value, u32);
} chosen_ids SEC(".maps");

__u64 left_out_kinds[kWitnessKinds] = {};

static __noinline int is_chosen(u32 rule, u32 id) {
  const struct witness_id key = {.rule = rule, .id = id};
  return bpf_map_lookup_elem(&chosen_ids, &key) != 0;
}

inline_always int refused(u32 only, u32 except, u32 id) {
  return ((id_rules & 1 << only) && !is_chosen(only, id)) || ((id_rules & 1 << except) && is_chosen(except, id));
}

inline_always int left_out(u32 kind) {
  if (kind >= kWitnessKinds || !(early_kinds & 1ull << kind)) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  if (!(unwanted_kinds & 1ull << kind) && !refused(kWitnessOnlyUid, kWitnessExceptUid, task->cred->fsuid.val) &&
      !refused(kWitnessOnlyPid, kWitnessExceptPid, task->tgid))
    return 0;
  __sync_fetch_and_add(&left_out_kinds[kind], 1);
  return 1;
}
