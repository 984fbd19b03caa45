// SPDX-License-Identifier: Apache-2.0
#include "workloads/mix_result.hpp"

#include <algorithm>
#include <cmath>

#include "engine/run.hpp"
#include "mix/procedures.hpp"

namespace fsr {

namespace {

// Operations are counted by kind. Where several procedures share a kind, each has its part of what was dealt; exact unless the
// run was ended early.
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

MixResult mix_result(const MixPlan& plan, const std::vector<Dealt>& dealt, const RunResult& run, const ProcedureCounts& before,
                     const ProcedureCounts& after) {
  MixResult r;
  r.notes = plan.notes;
  r.calls = run.issued();  // the rows of a run that was ended early are rounded
  Dealt all{};
  for (const auto& own : dealt)
    for (unsigned kind = 0; kind < kOpKinds; ++kind) all[kind] += own[kind];
  for (size_t i = 0; i < plan.procedures.size(); ++i) {
    MixRow row;
    row.name = plan.procedures[i].name;
    row.asked = plan.procedures[i].asked;
    row.issued = uint64_t(std::llround(part_of(dealt[i], all, run, [](const KindResult& k) { return double(k.issued); })));
    row.failed = uint64_t(std::llround(part_of(dealt[i], all, run, [](const KindResult& k) { return double(k.failed); })));
    row.service = part_of(dealt[i], all, run, [](const KindResult& k) { return k.service.sum(); });
    r.rows.push_back(row);
  }
  r.wire_known = !after.empty();
  for (const auto& [name, count] : after) {
    auto same = [&, &wanted = name](const auto& entry) { return entry.first == wanted; };
    auto earlier = std::find_if(before.begin(), before.end(), same);
    const uint64_t from = earlier == before.end() ? 0 : earlier->second;
    const uint64_t sent = count > from ? count - from : 0;
    if (plan.nfs_version != 4 && sent && nfs_procedure_index(3, name) < 0) r.wire_comparable = false;
    auto known = std::find_if(plan.procedures.begin(), plan.procedures.end(),
                              [&, &wanted = name](const PlannedProcedure& p) { return p.name == wanted; });
    if (known == plan.procedures.end() ? plan.nfs_version == 4 : known->internal) {
      r.wire_internal += sent;
      continue;
    }
    r.wire_calls += sent;
    auto row = std::find_if(r.rows.begin(), r.rows.end(), [&, &wanted = name](const MixRow& x) { return x.name == wanted; });
    if (row == r.rows.end()) {
      if (!sent) continue;
      row = r.rows.insert(r.rows.end(), MixRow());
      row->name = name;
    }
    row->wire = sent;
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
