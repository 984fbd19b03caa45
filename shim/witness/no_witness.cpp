// SPDX-License-Identifier: Apache-2.0
// Stands for the capture at the kernel's hooks in a build without libbpf, clang or bpftool.
#include "../capture_error.hpp"
#include "hooks.hpp"
#include "witness_capture.hpp"

namespace fsr::shim {

std::string witness_problem() {
  return "this fsshim was built without eBPF; build with libbpf, clang and bpftool (-Dwitness=enabled), or leave "
         "--via out";
}

std::string why_not_witness(const CaptureOptions&) { return witness_problem(); }

int run_witness_capture(CaptureOptions&) { throw CaptureError("--via kernel: " + witness_problem()); }

}  // namespace fsr::shim
