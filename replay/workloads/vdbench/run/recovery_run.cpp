// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/recovery_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "targets/blocking_session.hpp"
#include "util/units.hpp"
#include "workloads/vdbench/run/perform_run.hpp"

namespace fsr::vdbench {

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
  const RecoveryResult found = vdbench::recover(
      known, storage, validator, {.ignores_pending = how.ignores_pending, .reads_all = how.reads_all}, source, errors_);
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
