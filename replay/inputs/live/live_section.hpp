// SPDX-License-Identifier: Apache-2.0
// Section of the report on a capture that was replayed while it went on.
#pragma once

#include <cstdint>
#include <string>

#include "inputs/live/live_options.hpp"
#include "inputs/live/live_status.hpp"
#include "report/section.hpp"

namespace fsr {

class LiveSection final : public ReportSection {
 public:
  std::string id, host;
  std::string damage;          // why the stream was cut; empty: it ended as it should
  std::string capture_failed;  // what the capture says of itself; empty: it was complete
  uint64_t dropped = 0;        // operations that the capture saw and did not record
  uint64_t late_ends = 0;      // operations whose outcome came too late to be known
  bool from_arrival = false;   // the lag counts from the arrival of the first operation
  LiveOptions options;
  LiveStatus status;
  int64_t late = 0;  // ns by which the last operations were issued after their due time

  std::string heading() const override;
  std::string text() const override;
  void facts(Facts& of_run) const override;
  void json(nlohmann::json& document) const override;
  void database(ResultsDatabase& results) const override;
  bool so_far() const override { return true; }
  void metrics(MetricsText& out) const override;
  std::vector<std::string> reasons() const override;
};

}  // namespace fsr
