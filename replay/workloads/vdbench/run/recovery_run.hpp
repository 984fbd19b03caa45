// SPDX-License-Identifier: Apache-2.0
// Recovers all SDs or trees from their journals, before the first run. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "workloads/vdbench/files/anchor.hpp"
#include "workloads/vdbench/pages/reports.hpp"
#include "workloads/vdbench/raw/raw_thread.hpp"
#include "workloads/vdbench/validate/recovery.hpp"

namespace fsr::vdbench {

class RecoveryRun {
 public:
  // `at_error` gets the location of each error that is reported.
  using AtError = std::function<void(const ErrorLocation&)>;
  RecoveryRun(const General& general, Clock& clock, Reports& reports, AtError at_error);

  // Compares with the journal, and adds errors to the reports. Throws std::runtime_error if something can't be read, and at the
  // limit of data_errors=, after its command.
  void recover(const RecoveredKeys& known, const OpenStorage& storage, Target& target);
  void recover(const RecoveredKeys& known, Anchor& anchor, Target& target);  // the anchor must know its existing files
  uint64_t errors() const { return errors_.count(); }
  const std::vector<std::string>& notes() const { return notes_; }  // a line for each storage

 private:
  void recover(const RecoveredKeys& known, ValidatedStorage& storage, RecoverySource& source);

  const General& general_;
  Clock& clock_;
  Reports& reports_;
  std::vector<std::string> notes_;
  std::atomic<bool> over_{false};
  ErrorLog errors_;
};

}  // namespace fsr::vdbench
