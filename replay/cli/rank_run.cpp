// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_run.hpp"

#include <signal.h>

#include <bit>
#include <utility>

#include "trace/bytes.hpp"

namespace fsr {

constexpr int64_t kLead = 50'000'000;  // ns from the moment at which all ranks are ready to their common start

double RankRun::of_root(double value) {
  ByteWriter out;
  out.u64(std::bit_cast<uint64_t>(value));
  const std::string from_root = cluster_.broadcast(out.view());
  return std::bit_cast<double>(ByteReader(from_root).u64());
}

void RankRun::keep_alive() {
  if (!several() || clock_.now() < alive_at_ + cluster_.heartbeat_interval()) return;
  alive_at_ = clock_.now();
  cluster_.send_heartbeat();
}

std::function<int64_t()> RankRun::meeting() {
  if (!several()) return nullptr;
  return [this] {
    clocks_.before = cluster_.compare_clocks();
    return clocks_.start = common_start(cluster_, clocks_.before, kLead);
  };
}

void RankRun::exchange(unsigned round, int64_t length, TimeSeries::Rows rows, RankInterval::Receiver receive,
                       std::function<void(const std::string& line)> tell) {
  if (several()) exchange_.emplace(cluster_, round, length, rows, std::move(receive), std::move(tell));
}

void RankRun::move() {
  keep_alive();
  if (exchange_) exchange_->move();
  if (cluster_.dismissed() && stop_.load() == 0) raise(SIGTERM);
}

void RankRun::gather(Input& input, Report& report) {
  if (!several()) return;
  exchange_->finish();
  whole_ = gather_results(cluster_, input, report, &*exchange_, clocks_);
}

}  // namespace fsr
