// SPDX-License-Identifier: Apache-2.0
// Programs for the kernel, one at each hook. Each checks whether the operation is of the captured directory, and records it.
// The loader (hooks.cpp) attaches them singly, so that an error can name a missing hook.
#include "state.bpf.h"

// The programs of each group.
#include "async.bpf.h"
#include "data.bpf.h"
#include "mappings.bpf.h"
#include "names.bpf.h"
#include "objects.bpf.h"
#include "others.bpf.h"
#include "paths.bpf.h"
#include "unended.bpf.h"

// bpf_probe_read_kernel is for programs of a licence that the GPL is compatible with.
char licence[] SEC("license") = "Dual BSD/GPL";

// Runs at the start of each system call. For threads that are not captured, no other program does more than compare.
SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins) { return begin_call(); }
