// SPDX-License-Identifier: Apache-2.0
// Programs for the kernel, one at each hook. Each checks whether the operation is of the captured directory, and records it.
// The loader (hooks.cpp) attaches them singly, so that an error can name a missing hook.
#include "state.bpf.h"

// The programs of each group.
#include "data.bpf.h"
#include "names.bpf.h"
#include "objects.bpf.h"
#include "paths.bpf.h"

// bpf_probe_read_kernel is for programs of a licence that the GPL is compatible with.
char licence[] SEC("license") = "Dual BSD/GPL";

// Runs at the start of each system call. For threads that are not captured, no other program does more than compare.
SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins) {
  struct call* call = call_if_any();
  if (!call) {
    if (!entered_fence()) return 0;
    call = call_of_thread();
    if (!call) {
      note_lost();
      return 0;
    }
  }
  call->start = bpf_ktime_get_ns();
  call->looked_up = 0;
  call->parents[0] = call->parents[1] = 0;
  call->synced = call->makes_node = 0;
  call->change.kind = 0;
  return 0;
}
