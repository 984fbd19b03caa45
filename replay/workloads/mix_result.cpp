// SPDX-License-Identifier: Apache-2.0
#include "workloads/mix_result.hpp"

#include <algorithm>
#include <cmath>

#include "engine/run.hpp"

namespace fsr {

namespace {

// Operations are counted by kind. If several procedures issue operations of one kind, each gets its part of the counts, in
// proportion to the calls dealt. This is exact unless the run was ended early.
template <class OfKind>
double part_of(const Dealt& own, const Dealt& all, const RunResult& run, OfKind of_kind) {
  double sum = 0;
  for (unsigned kind = 0; kind < kOpKinds; ++kind)
    if (own[kind]) sum += of_kind(run.kinds[kind]) * double(own[kind]) / double(all[kind]);
  return sum;
}

template <class Share>
MixDeviation deviation(const std::vector<MixRow>& rows, Share share) {
  MixDeviation d;
  for (const MixRow& row : rows) {
    const double off = std::abs(share(row) - row.asked) * 100;
    d.total += off;
    if (off <= d.largest) continue;
    d.largest = off;
    d.where = row.name;
  }
  return d;
}

}  // namespace

ProcedureCounts added(const ProcedureCounts& before, const ProcedureCounts& after) {
  ProcedureCounts sent = after;
  for (auto& [name, count] : sent) {
    auto earlier = std::find_if(before.begin(), before.end(), [&, &wanted = name](const auto& x) { return x.first == wanted; });
    if (earlier != before.end()) count -= std::min(count, earlier->second);
  }
  return sent;
}

MixResult mix_result(const MixPlan& plan, const std::vector<Dealt>& dealt, const RunResult& run, const ProcedureCounts& before,
                     const ProcedureCounts& after) {
  MixResult r;
  r.notes = plan.notes;
  r.calls = run.issued();  // not the sum of the rows, which are rounded if the run was ended early
  Dealt all{};
  for (const auto& own : dealt)
    for (unsigned kind = 0; kind < kOpKinds; ++kind) all[kind] += own[kind];
  const WireRows wire(plan, after);
  auto row_of = [&](const std::string& name) -> MixRow& {
    auto found = std::find_if(r.rows.begin(), r.rows.end(), [&](const MixRow& x) { return x.name == name; });
    if (found == r.rows.end()) found = r.rows.insert(r.rows.end(), MixRow{.name = name});
    return *found;
  };
  for (size_t i = 0; i < plan.procedures.size(); ++i) {
    const MixRow& own = r.procedures.emplace_back(MixRow{
        .name = plan.procedures[i].name,
        .asked = plan.procedures[i].asked,
        .issued = uint64_t(std::llround(part_of(dealt[i], all, run, [](const KindResult& k) { return double(k.issued); }))),
        .failed = uint64_t(std::llround(part_of(dealt[i], all, run, [](const KindResult& k) { return double(k.failed); }))),
        .service = part_of(dealt[i], all, run, [](const KindResult& k) { return k.service.sum(); })});
    MixRow& to = row_of(wire.of_mix(own.name));
    to.asked += own.asked;
    to.issued += own.issued;
    to.failed += own.failed;
    to.service += own.service;
  }
  r.wire_known = !after.empty();
  r.wire_comparable = wire.comparable();
  for (const auto& [name, sent] : added(before, after)) {
    const std::string counts_as = wire.of_request(name);
    (counts_as.empty() ? r.wire_internal : r.wire_calls) += sent;
    if (sent && !counts_as.empty()) row_of(counts_as).wire += sent;
  }
  std::erase_if(r.rows, [](const MixRow& row) { return row.asked == 0 && !row.issued && !row.wire; });
  for (MixRow& row : r.rows) {
    if (r.calls) row.issued_share = double(row.issued) / double(r.calls);
    if (r.wire_calls) row.wire_share = double(row.wire) / double(r.wire_calls);
  }
  r.issued = deviation(r.rows, [](const MixRow& row) { return row.issued_share; });
  r.wire = deviation(r.rows, [](const MixRow& row) { return row.wire_share; });
  return r;
}

}  // namespace fsr
