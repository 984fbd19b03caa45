// SPDX-License-Identifier: Apache-2.0
#include "profile.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "clone.hpp"
#include "trace_output.hpp"
#include "util/memory.hpp"
#include "util/status_line.hpp"

namespace fsr::fstrace {

constexpr uint64_t kMostBlocks = uint64_t(1) << 19;  // Linux moves no more than 2 GiB in one call

void Timeline::cover(int64_t time) {
  while ((time - start_) / width_ >= int64_t(kMost)) {
    for (size_t i = 0; i < bins_.size(); ++i) {
      TimeBin sum = bins_[i];
      bins_[i] = {};
      TimeBin& to = bins_[i / 2];
      to.operations += sum.operations;
      to.failed += sum.failed;
      to.read_bytes += sum.read_bytes;
      to.written_bytes += sum.written_bytes;
      to.latency_ns += sum.latency_ns;
      to.busy_ns += sum.busy_ns;
    }
    bins_.resize((bins_.size() + 1) / 2);
    width_ *= 2;
  }
  const size_t bin = size_t((time - start_) / width_);
  if (bin >= bins_.size()) bins_.resize(bin + 1);
}

TimeBin& Timeline::at(int64_t time) {
  time = std::max(time, start_);
  cover(time);
  return bins_[size_t((time - start_) / width_)];
}

void Timeline::add_busy(int64_t from, int64_t to, double depth) {
  if (to <= from || depth == 0) return;
  cover(to);
  while (from < to) {
    const size_t bin = size_t((from - start_) / width_);
    const int64_t end = std::min(to, start_ + int64_t(bin + 1) * width_);
    bins_[bin].busy_ns += depth * double(end - from);
    from = end;
  }
}

void Concurrency::until(int64_t time) {
  if (time <= now_) return;
  const size_t depth = ends_.size();
  if (depth >= time_at_.size()) time_at_.resize(depth + 1);
  time_at_[depth] += double(time - now_);
  timeline_.add_busy(now_, time, double(depth));
  now_ = time;
}

void Concurrency::add(const Op& op) {
  if (now_ == INT64_MIN) now_ = op.start;
  if (op.has(kOpUnfinished)) return;
  while (!ends_.empty() && ends_.top() <= op.start) {
    until(ends_.top());
    ends_.pop();
  }
  until(op.start);
  ends_.push(op.end());
}

void Concurrency::finish() {
  for (; !ends_.empty(); ends_.pop()) until(ends_.top());
}

void Profile::read(TraceReader& reader, const std::string& file, const std::function<void(const OpBatch&)>& also) {
  begin(reader, file);
  StatusLine line(false);
  while (const OpBatch* batch = next(reader)) {
    if (also) also(*batch);
    line.bar("reading", reader.position_bytes(), reader.file_bytes());
  }
  line.clear();
  end(reader);
}

void Profile::begin(TraceReader& reader, const std::string& file) {
  name = file;
  header = reader.header();
  covered = {reader.begin_time(), reader.end_time()};
  reader.load_state(INT64_MIN, tree);
  tree.limit(memory_budget());
}

const OpBatch* Profile::next(TraceReader& reader) {
  if (!reader.next(batch_)) return nullptr;
  groups_.begin_batch();
  for (const Op& op : batch_.ops) add(op);
  return &batch_;
}

void Profile::end(const TraceReader& reader) {
  status = report_damage(name, reader);
  concurrency.finish();
  apply_until(INT64_MAX);
  for (const StatGroups::Group& g : groups_.groups()) {
    kinds[g.key[0]] = g.measure;
    total.merge(g.measure);
  }
  if (total.operations == 0) throw std::runtime_error(name + ": no operations");
}

void Profile::add(const Op& op) {
  const unsigned kind = unsigned(op.kind);
  const bool unfinished = op.has(kOpUnfinished);
  if (groups_.groups().empty()) {
    first = op.start;
    timeline.begin(op.start);
    kind_last_.fill(INT64_MIN);
  } else {
    gaps.add(op.start - last_start_);
  }
  last_start_ = op.start;
  if (kind_last_[kind] != INT64_MIN) kind_gaps[kind].add(op.start - kind_last_[kind]);
  kind_last_[kind] = op.start;
  covered.add(op);
  groups_.add(op);
  traits.add(op);
  ++outcomes[kind][unfinished ? -1 : op.error];
  concurrency.add(op);
  if (auto [at, fresh] = thread_end_.try_emplace(op.thread, op.end()); !fresh) {
    if (!op.has(kOpKernel) && op.start >= at->second) think.add(op.start - at->second);
    at->second = std::max(at->second, op.end());
  }
  TimeBin& bin = timeline.at(op.start);
  ++bin.operations;
  bin.failed += !unfinished && op.error != 0;
  bin.latency_ns += double(op.duration);
  if (!op.error && op.kind == OpKind::read) bin.read_bytes += op.result;
  if (!op.error && op.kind != OpKind::read && moves_bytes(op)) bin.written_bytes += op.result;
  touch(op);
  change_tree(op);
}

void Profile::apply_until(int64_t time) {
  while (!changes_.empty() && changes_.top().end <= time) {
    std::shared_ptr<OpBatch> batch = changes_.top().batch;
    changes_.pop();
    tree.apply(batch->ops[0]);
    batch->clear();
    spare_.push_back(std::move(batch));
  }
}

void Profile::change_tree(const Op& op) {
  apply_until(op.start);
  Change change{op.end(), changed_++, nullptr};
  if (spare_.empty()) {
    change.batch = std::make_shared<OpBatch>();
  } else {
    change.batch = std::move(spare_.back());
    spare_.pop_back();
  }
  change.batch->ops.push_back(copy_op(op, change.batch->arena));
  changes_.push(std::move(change));
}

void Profile::touch(const Op& op) {
  if (op.object) touched_.insert(op.object);
  if (op.error || op.result == 0) return;
  const bool copy = op.kind == OpKind::copy_file_range;
  if (op.kind != OpKind::read && op.kind != OpKind::write && !copy) return;
  auto blocks = [&](ObjectId object, uint64_t offset, DistinctCount& of) {
    const uint64_t from = offset / kPrintBlock, n = (offset % kPrintBlock + op.result - 1) / kPrintBlock + 1;
    for (uint64_t i = 0; i < std::min(n, kMostBlocks); ++i) {
      of.add(object, from + i);
      either_.add(object, from + i);
    }
  };
  if (op.kind != OpKind::write) blocks(op.object, op.offset, read_);
  if (op.kind == OpKind::write) blocks(op.object, op.offset, written_);
  if (copy) blocks(op.object2, op.offset2, written_);
}

WorkingSet Profile::working_set() const {
  return {touched_.size(), read_.estimate() * kPrintBlock, written_.estimate() * kPrintBlock, either_.estimate() * kPrintBlock};
}

double distance(const Histogram& a, const Histogram& b) {
  if (!a.count() || !b.count()) return a.count() == b.count() ? 0 : 1;
  std::map<int64_t, double> steps;
  a.each_bucket([&](int64_t low, int64_t, uint64_t n) { steps[low] += double(n) / double(a.count()); });
  b.each_bucket([&](int64_t low, int64_t, uint64_t n) { steps[low] -= double(n) / double(b.count()); });
  double sum = 0, most = 0;
  for (const auto& [value, step] : steps) most = std::max(most, std::abs(sum += step));
  return most;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  const double whole_a = std::accumulate(a.begin(), a.end(), 0.0), whole_b = std::accumulate(b.begin(), b.end(), 0.0);
  if (whole_a == 0 || whole_b == 0) return whole_a == whole_b ? 0 : 1;
  double sum = 0, most = 0;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    sum += (i < a.size() ? a[i] / whole_a : 0) - (i < b.size() ? b[i] / whole_b : 0);
    most = std::max(most, std::abs(sum));
  }
  return most;
}

double distance(const Timeline& a, const Timeline& b) {
  const int64_t width = std::max(a.width(), b.width());
  auto arrivals = [&](const Timeline& t) {
    std::vector<double> out;
    for (size_t i = 0; i < t.bins().size(); ++i) {
      const size_t bin = size_t(int64_t(i) * t.width() / width);
      if (bin >= out.size()) out.resize(bin + 1);
      out[bin] += double(t.bins()[i].operations);
    }
    return out;
  };
  return distance(arrivals(a), arrivals(b));
}

}  // namespace fsr::fstrace
