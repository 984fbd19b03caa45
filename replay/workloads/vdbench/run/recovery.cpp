// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/recovery.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "targets/blocking_session.hpp"
#include "util/units.hpp"
#include "workloads/vdbench/run/runs.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

namespace {

constexpr uint64_t kReadAtOnce = 1 << 20;

class Recovery {
 public:
  Recovery(const RecoveredKeys& known, ValidatedStorage& storage, Validator& validator, RecoverySource& source)
      : known_(known),
        storage_(storage),
        keys_(storage.keys),
        validator_(validator),
        source_(source),
        blocks_(std::min<uint64_t>(known.keys.size(), storage.keys.blocks())) {
    const std::vector<uint16_t> numbers = storage.threads.add(known.threads);
    for (uint64_t block = 0; block < blocks_; ++block) {
      keys_.set(block * known.unit, known.keys[block]);
      if (!known.writers.empty()) keys_.wrote(block * known.unit, 0, numbers[known.writers[block]]);
    }
  }
  ~Recovery() {
    for (uint64_t block = 0; block < blocks_; ++block) keys_.release(block * known_.unit, known_.unit);  // claimed by set()
  }

  void settle_removals() {
    for (const auto& [first, count] : known_.removes) {
      ++result_.removes;
      if (first >= blocks_ || !source_.read(first * known_.unit, known_.unit).empty()) continue;
      ++result_.removed;
      keys_.forget(first * known_.unit, std::min(count, blocks_ - first) * known_.unit);
    }
  }

  void settle_write(uint64_t block, uint8_t key, bool asks) {
    if (block >= blocks_) return;
    const uint64_t offset = block * known_.unit, sectors = known_.unit / kSector;
    ++result_.pending;
    const uint8_t before = keys_.key(offset);
    keys_.set(offset, BlockKeys::kUnknown);
    if (!asks) return;
    const std::string_view data = source_.read(offset, known_.unit);
    const uint64_t after = sectors_with(key, offset, data), old = sectors_with(before, offset, data);
    if (after == sectors) {
      ++result_.done;
      keys_.set(offset, key);
    } else if (after == 0 && (old == sectors || before == BlockKeys::kUnknown)) {
      ++result_.not_done;
      keys_.set(offset, before);
    } else if (after + old == sectors || before == BlockKeys::kUnknown) {
      ++result_.torn;  // a write in flight may have been done in part
    } else {
      ++result_.not_done;
      keys_.set(offset, before);  // neither key: check and report the block
      check(offset, data, known_.unit, "read of a pending write");
    }
  }

  void read_all(ErrorLog& errors) {
    for (uint64_t offset = 0, end = blocks_ * known_.unit; offset < end && !errors.look_at_time();) {
      const uint64_t most = std::min(end, source_.end_of(offset)) - offset;
      const uint64_t length = std::min(std::max(kReadAtOnce / known_.unit, uint64_t(1)) * known_.unit, most);
      if (validator_.known_length(offset, length)) check(offset, source_.read(offset, length), length, "read after recovery");
      offset += length;
    }
  }

  const RecoveryResult& result() const { return result_; }

 private:
  // Returns the number of sectors in a block that its owner wrote at this offset with that key.
  uint64_t sectors_with(uint8_t key, uint64_t offset, std::string_view block) const {
    uint64_t count = 0;
    for (uint64_t at = 0; at + kSector <= block.size(); at += kSector) {
      SectorMark mark;
      count += is_in_place(block.data() + at, offset + at, &mark) && mark.key == key;
    }
    return count;
  }

  bool is_in_place(const char* sector, uint64_t offset, SectorMark* mark) const {
    const SectorMark expected{.offset = offset, .time = 0, .key = 0, .owner = storage_.name};
    const bool written = look_at_sector(sector, expected, mark) == SectorState::written;
    return written && mark->offset == offset && mark->owner == storage_.name;
  }

  // Checks what was read. `length`: bytes that were requested.
  void check(uint64_t offset, std::string_view data, uint64_t length, const char* when) {
    const uint64_t whole = data.size() / known_.unit * known_.unit;
    if (known_.lost) {
      for (uint64_t at = 0; at < whole; at += known_.unit) trust(offset + at, data.substr(at, known_.unit));
      if (data.empty()) give_up(offset, length);  // the entry of its removal may be lost
    }
    validator_.check(offset, data.substr(0, whole), when);
    validator_.missing(offset + whole, length - whole, when);
  }

  void give_up(uint64_t offset, uint64_t length) {
    for (uint64_t at = offset; at < offset + length; at += known_.unit) {
      const uint8_t key = keys_.key(at);
      if (key == BlockKeys::kUnknown || key == BlockKeys::kBad) continue;
      ++result_.unclear;
      keys_.set(at, BlockKeys::kUnknown);
    }
  }

  // Corrects the key of a block if entries of the journal were lost: a block with the content of a later write is accepted.
  void trust(uint64_t offset, std::string_view block) {
    const uint8_t key = keys_.key(offset);
    if (key == BlockKeys::kUnknown || key == BlockKeys::kBad) return;
    uint64_t later = 0, as_known = 0, alike = 0;
    SectorMark mark, first;
    for (uint64_t at = 0; at < block.size(); at += kSector) {
      if (!is_in_place(block.data() + at, offset + at, &mark)) continue;
      const bool is_later = mark.key != key && mark.time >= known_.began && (known_.shape || is_ahead(mark.key, key));
      if (is_later && later++ == 0) first = mark;
      alike += is_later && mark.key == first.key;
      as_known += mark.key == key;
    }
    const uint64_t sectors = block.size() / kSector;
    if (later == 0 || later + as_known != sectors) return;
    ++(alike == sectors ? result_.taken : result_.unclear);
    keys_.set(offset, alike == sectors ? first.key : BlockKeys::kUnknown);
  }

  // True if `key` follows `of`. Keys count writes, and restart after the last one; those of a file also when it is created again.
  static bool is_ahead(uint8_t key, uint8_t of) { return (key + kMostKey - of) % kMostKey <= kMostKey / 2; }

  const RecoveredKeys& known_;
  ValidatedStorage& storage_;
  BlockKeys& keys_;
  Validator& validator_;
  RecoverySource& source_;
  const uint64_t blocks_;
  RecoveryResult result_;
};

}  // namespace

RecoveryResult recover(const RecoveredKeys& known, ValidatedStorage& storage, Validator& validator, const Validation& how,
                       RecoverySource& source, ErrorLog& errors) {
  Recovery recovery(known, storage, validator, source);
  recovery.settle_removals();
  for (const auto& [block, key] : known.pending)
    if (!errors.look_at_time()) recovery.settle_write(block, key, !how.ignores_pending);
  if (how.reads_all || known.lost) recovery.read_all(errors);
  return recovery.result();
}

namespace {

constexpr HandleId kHandle = 1;

class StorageSource final : public RecoverySource {
 public:
  StorageSource(const OpenStorage& storage, Target& target, Clock& clock) : storage_(storage), session_(target, clock) {}

  uint64_t end_of(uint64_t) const override { return storage_.size; }
  std::string_view read(uint64_t offset, uint64_t length) override {
    Op op{.kind = OpKind::read, .object = storage_.object, .handle = storage_.handle};
    op.offset = offset;
    op.length = op.result = length;
    const Outcome& outcome = session_.perform(op);
    if (outcome.error || outcome.data.size() != length)
      throw_error("sd={}: recovery can't read {} bytes at {}: {}", storage_.validated->name, length, offset,
                  outcome.error ? strerror(outcome.error) : "the file is too short");
    return outcome.data;
  }

 private:
  const OpenStorage& storage_;
  BlockingSession session_;
};

class TreeSource final : public RecoverySource {
 public:
  TreeSource(Anchor& anchor, Target& target, Clock& clock) : anchor_(anchor), session_(target, clock) {}
  ~TreeSource() override { close(); }

  uint64_t end_of(uint64_t offset) const override { return anchor_.row().end_of(anchor_.row().file_at(offset)); }
  std::string_view read(uint64_t offset, uint64_t length) override {
    const auto file = uint32_t(anchor_.row().file_at(offset));
    const Anchor::File& its = anchor_.file(file);
    const uint64_t at = offset - anchor_.row().begin_of(file);
    if (!its.exists || at >= its.current) return {};
    if (open_ != file) open(file);
    Op op{.kind = OpKind::read, .object = its.object, .handle = kHandle};
    op.offset = at;
    op.length = op.result = std::min(length, its.current - at);
    const Outcome& outcome = session_.perform(op);
    if (outcome.error) failed("read", file, outcome.error);
    return outcome.data;
  }

 private:
  void open(uint32_t file) {
    close();
    Op op{.kind = OpKind::open, .object = anchor_.file(file).object, .handle = kHandle};
    op.open_flags = O_RDONLY;
    if (const int error = session_.perform(op).error) failed("open", file, error);
    open_ = file;
  }
  void close() {
    if (open_) session_.perform({.kind = OpKind::release, .object = anchor_.file(*open_).object, .handle = kHandle});
    open_.reset();
  }
  [[noreturn]] void failed(const char* what, uint32_t file, int error) const {
    throw_error("anchor={}: recovery can't {} {}: {}", anchor_.name(), what, anchor_.structure().file_path(file),
                strerror(error));
  }

  Anchor& anchor_;
  BlockingSession session_;
  std::optional<uint32_t> open_;
};

}  // namespace

RecoveryRun::RecoveryRun(const General& general, Clock& clock, Reports& reports, AtError at_error)
    : general_(general),
      clock_(clock),
      reports_(reports),
      errors_(limits_of(general), over_,
              [&reports, at_error = std::move(at_error)](const std::string& line, const ErrorLocation& location) {
                reports.error(line);
                if (at_error) at_error(location);
              }) {}

void RecoveryRun::recover(const RecoveredKeys& known, const OpenStorage& storage, Target& target) {
  StorageSource source(storage, target, clock_);
  recover(known, *storage.validated, source);
}

void RecoveryRun::recover(const RecoveredKeys& known, Anchor& anchor, Target& target) {
  const Structure& structure = anchor.structure();
  for (uint32_t n = 0; n < structure.files(); ++n)
    if (anchor.file(n).longer)
      errors_.add(fmt::format("{} file={}: expected {} bytes, found more: another program has written to this file",
                              anchor.validated()->what, structure.file_path(n), structure.size_of(n)),
                  {anchor.name() + "/" + structure.file_path(n), structure.size_of(n)});
  TreeSource source(anchor, target, clock_);
  recover(known, *anchor.validated(), source);
}

void RecoveryRun::recover(const RecoveredKeys& known, ValidatedStorage& storage, RecoverySource& source) {
  const Validation& how = general_.validation;
  ValidatedRun validated{.name = "recovery"};
  Validator validator(storage, how, validated, errors_, storage.keys.unit());
  const RecoveryResult found = vdbench::recover(known, storage, validator, how, source, errors_);
  const std::string removals =
      found.removes ? fmt::format("; {} pending removals, of which {} are done", found.removes, found.removed) : "";
  notes_.push_back(
      fmt::format("{}: recovered from the journal: {} pending writes, of which {} are complete, {} absent, {} partial{}; {} "
                  "blocks checked, {} not as written",
                  storage.what, found.pending, found.done, found.not_done, found.torn, removals, format_count(validated.checked),
                  format_count(validated.wrong)));
  reports_.note(notes_.back());
  for (const std::string& line : validated.bad.lines()) reports_.error(line);
  if (known.lost)
    errors_.add(
        fmt::format("{}: the journal is damaged from byte {} on: {} entries are lost; {} blocks are assumed to be as a later "
                    "write left them, the state of {} blocks is unknown",
                    storage.what, known.lost_at, format_count(known.lost), format_count(found.taken),
                    format_count(found.unclear)),
        {storage.name});
  end_at_errors(errors_, "recovery", general_, reports_);
}

}  // namespace fsr::vdbench
