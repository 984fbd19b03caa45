// SPDX-License-Identifier: Apache-2.0
// Mixfiles of every dialect, alone and as a difference to themselves and to a fixed earlier snapshot; and the mountstats of a
// trace.
#include <cmath>
#include <cstdlib>

#include "mix/linux_client.hpp"
#include "mix/mix.hpp"
#include "mix/mountstats.hpp"

using namespace fsr;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void check(const Mix& mix) {
  double weights = 0;
  uint64_t calls = 0;
  for (const MixProcedure& p : mix.procedures) {
    if (!(p.weight >= 0 && p.weight <= 1)) abort();
    weights += p.weight;
    calls += p.count;
  }
  if (std::abs(weights - 1) > 1e-9 || calls != mix.calls) abort();
  for (const TransferTraits* traits : {&mix.traits.reads, &mix.traits.writes}) {
    if (!(traits->sequential >= 0 && traits->sequential <= 1) || (traits->sequential > 0 && !traits->known())) abort();
    for (const auto* sizes : {&traits->sequential_sizes, &traits->sizes})
      for (const SizeWeight& size : *sizes)
        if (size.bytes > kMostMixTransfer || !(size.weight > 0)) abort();
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const MixText mix{text, "input"};
  const MixText earlier{"rc 0 0 0\nproc3 22 0 1 2 3 4 5 6 7 8 0 0 0 0 0 0 0 0 0 0 0 0 0\n", "earlier"};
  for (unsigned version : {0u, 2u, 3u, 4u})
    for (const MixText* since : {static_cast<const MixText*>(nullptr), &mix, &earlier})
      for (bool odd : {false, true}) {
        try {
          check(read_mix(mix, {.nfs_version = version, .client = odd, .compat = odd}, since));
        } catch (const MixError&) {
        }
      }
  Mountstats stats;
  if (parse_mountstats(text, &stats)) {
    LinuxClientOptions client;
    client.apply_mount_options(stats.options);
    if (client.rsize < 1024 || client.wsize < 1024 || client.acregmin < 0 || client.acdirmax < 0) abort();
  }
  return 0;
}
