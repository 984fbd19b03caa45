// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/rank_messages.hpp"
#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "trace/bytes.hpp"

namespace fsr::vdbench {

namespace {

constexpr const char* kDamaged = "damaged message from another rank";

// First byte of a message from a rank: its kind.
enum ReportKind : uint8_t { kInterval = 'i', kError = 'e', kDirectories = 'd', kEnd = 'x' };

}  // namespace

// Ranks of one version send them as they lie in memory.
static_assert(std::is_trivially_copyable_v<RankTotals> && sizeof(RankTotals) % sizeof(uint64_t) == 0);

std::string RankPart::save() const {
  ByteWriter out;
  const RankTotals& totals = *this;
  out.raw(&totals, sizeof totals);
  out.varint(wrong_blocks.size());
  for (const std::string& line : wrong_blocks) out.text(line);
  return std::string(out.view());
}

RankPart RankPart::load(std::string_view saved) {
  ByteReader in(saved);
  RankPart part;
  RankTotals& totals = part;
  if (const std::string_view numbers = in.bytes(sizeof totals); in.ok()) memcpy(&totals, numbers.data(), sizeof totals);
  for (uint64_t lines = in.varint(); lines > 0 && in.ok(); --lines) part.wrong_blocks.emplace_back(in.text());
  if (!in.ok() || in.left() != 0) throw std::runtime_error(kDamaged);
  return part;
}

void RankInterval::merge(const RankInterval& later) {
  counts.merge(later.counts);
  if (!reported) cpu = later.cpu;  // a second part is too short to measure
  reported |= later.reported;
  if (later.reported) machine = later.machine;
}

void RunInterval::merge(const RunInterval& later) {
  from = std::min(from, later.from);
  to = std::max(to, later.to);
  counts.merge(later.counts);
  ranks.resize(std::max(ranks.size(), later.ranks.size()));
  for (size_t rank = 0; rank < later.ranks.size(); ++rank) ranks[rank].merge(later.ranks[rank]);
}

RankMessages::RankMessages(RankGroup& ranks, std::atomic<bool>& over, const std::atomic<int>& stop,
                           const std::vector<unsigned>& makers)
    : ranks_(ranks), over_(over), stop_(stop), intervals_(ranks.cluster().size()) {
  for (unsigned number : makers) works_.emplace_back().missing = number;
}

void RankMessages::error(const std::string& line, const ErrorLocation& location, const ErrorLog::ReportError& report) {
  if (ranks_.cluster().root()) return report(line, location);
  ByteWriter out;
  out.u8(kError);
  out.text(line);
  out.text(location.lun);
  out.varint(location.lba);
  out.varint(location.size);
  out.svarint(location.error);
  ranks_.report_to_root(out.view(), false);
}

void RankMessages::interval(const Interval& counted) {
  if (!ranks_.several()) return report_({counted.from, counted.to, counted.last, counted.counts});
  ByteWriter out;
  out.u8(kInterval);
  out.svarint(counted.from);
  out.svarint(counted.to);
  out.u8(counted.last);
  const CpuUse cpu = cpu_.next();
  out.raw(&cpu, sizeof cpu);
  out.text(counted.counts.save());
  if (stop_.load() != 0) out.u8(kEnd);
  ranks_.report_to_root(out.view());
}

void RankMessages::end() {
  over_ = true;
  if (ranks_.several()) ranks_.report_to_root(std::string(1, kEnd));
}

void RankMessages::made_directories(size_t work) {
  if (works_[work].made.exchange(true)) return;
  if (ranks_.cluster().root()) return void(--works_[work].missing);
  ByteWriter out;
  out.u8(kDirectories);
  out.varint(work);
  ranks_.report_to_root(out.view());
}

void RankMessages::perform(const std::function<void()>& act, ErrorLog& errors, ReportInterval report) {
  report_ = std::move(report);
  errors_ = &errors;
  const RankGroup::ExchangeCallbacks messages{[this](const std::vector<std::string>& reports) { return answer(reports); },
                                              [this](const std::string& answer) { receive(answer); }, [this] { over_ = true; }};
  ranks_.work_with_exchange(
      [&] {
        if (!works_.empty() && !ranks_.cluster().root()) ranks_.report_to_root("");
        act();
      },
      messages);
  if (ranks_.several() && ranks_.cluster().root()) report_complete(true);
}

std::string RankMessages::answer(const std::vector<std::string>& reports) {
  for (unsigned rank = 0; rank < reports.size(); ++rank) take(rank, reports[rank]);
  report_complete(false);
  ByteWriter out;
  out.u8(over_.load() || stop_.load() != 0);
  for (const Directories& its : works_) out.u8(its.missing == 0);
  return std::string(out.view());
}

void RankMessages::take(unsigned rank, std::string_view report) {
  ByteReader in(report);
  while (in.ok() && in.left() != 0) switch (in.u8()) {
      case kInterval: {
        RunInterval one{.from = in.svarint(), .to = in.svarint(), .last = in.u8() != 0, .counts = {}};
        const std::vector<std::string>& machines = ranks_.cluster().hosts();
        one.ranks.resize(rank + 1);
        RankInterval& its = one.ranks[rank];
        its.reported = true;
        its.machine = unsigned(std::ranges::find(machines, machines[rank]) - machines.begin());
        if (const std::string_view cpu = in.bytes(sizeof its.cpu); in.ok()) memcpy(&its.cpu, cpu.data(), sizeof its.cpu);
        one.counts = its.counts = Tally::load(in.text());
        intervals_.add(rank, one);
        break;
      }
      case kError: {
        const std::string line(in.text());
        ErrorLocation location{.lun = std::string(in.text())};
        location.lba = in.varint();
        location.size = in.varint();
        location.error = int(in.svarint());
        ++errors_of_others_;
        errors_->add(ranks_.cluster().name_of(rank) + ": " + line, location);
        break;
      }
      case kDirectories:
        if (const uint64_t work = in.varint(); work < works_.size()) --works_[work].missing;
        break;
      case kEnd:
        over_ = true;
        break;
      default:
        in.fail();
    }
  if (!in.ok()) throw std::runtime_error(kDamaged);
}

void RankMessages::report_complete(bool left) {
  while (std::optional<RunInterval> one = intervals_.next(left)) {
    one->last = intervals_.over(left);
    report_(*one);
  }
}

void RankMessages::receive(const std::string& answer) {
  ByteReader in(answer);
  if (in.u8()) over_ = true;
  bool all_made = true;
  for (Directories& its : works_) {
    const bool made = in.u8() != 0;
    if (made) its.missing = 0;
    all_made &= made;
  }
  if (!all_made && !ranks_.cluster().root()) ranks_.report_to_root("");
}

void RankMessages::gather(RankPart mine, RunRecord& record) {
  mine.errors -= errors_of_others_;
  const auto parts = ranks_.gather(mine);
  Events events{};
  record.errors = 0;
  for (unsigned rank = 0; rank < parts.size(); ++rank) {
    if (!parts[rank]) continue;
    const RankPart& part = *parts[rank];
    record.errors += part.errors;
    record.checked += part.checked;
    record.wrong += part.wrong;
    for (size_t i = 0; i < kEvents; ++i) events[i] += part.events[i];
    for (const std::string& line : part.wrong_blocks)
      record.wrong_blocks.push_back(ranks_.several() ? ranks_.cluster().name_of(rank) + ": " + line : line);
    if (ranks_.several()) record.ranks.push_back({part, rank, ranks_.cluster().hosts()[rank]});
  }
  record.events = events_text(events, record.seconds);
}

void RankMessages::check(const std::function<void()>& checks) {
  if (ranks_.lost().empty()) return ranks_.cluster().on_all(checks);
  throw std::runtime_error(ranks_.lost() + ": no further run is started without all ranks");
}

}  // namespace fsr::vdbench
