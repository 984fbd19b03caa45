// SPDX-License-Identifier: Apache-2.0
#include "latencies.hpp"

#include <sstream>

namespace fsr::shim {

constexpr int64_t kPeriod = 500'000'000;  // ns between copies
const std::string kPrefix = "latency_";

void Latencies::add(const Op& op) { all_[unsigned(op.kind)].add(op.duration); }

void Latencies::publish(int64_t now) {
  if (now - published_at_ < kPeriod) return;
  published_at_ = now;
  std::lock_guard lock(mutex_);
  published_ = all_;
}

std::map<std::string, std::string> Latencies::fields() const {
  std::map<std::string, std::string> fields;
  std::lock_guard lock(mutex_);
  for (unsigned kind = 0; kind < kOpKinds; ++kind) {
    const Histogram& h = published_[kind];
    if (h.count() == 0) continue;
    std::ostringstream text;
    text << h.count() << ' ' << h.min() << ' ' << int64_t(h.mean());
    for (double q : {0.5, 0.9, 0.99, 0.999}) text << ' ' << h.quantile(q);
    text << ' ' << h.max();
    fields[kPrefix + op_name(OpKind(kind))] = text.str();
  }
  return fields;
}

std::map<std::string, LatencyNumbers> latencies_of(const std::map<std::string, std::string>& fields) {
  std::map<std::string, LatencyNumbers> found;
  for (auto at = fields.lower_bound(kPrefix); at != fields.end() && at->first.starts_with(kPrefix); ++at) {
    std::istringstream text(at->second);
    LatencyNumbers n;
    if (text >> n.count >> n.min >> n.mean >> n.p50 >> n.p90 >> n.p99 >> n.p999 >> n.max)
      found[at->first.substr(kPrefix.size())] = n;
  }
  return found;
}

}  // namespace fsr::shim
