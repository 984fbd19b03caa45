// SPDX-License-Identifier: Apache-2.0
// Merges what the ranks' reports say of the clients of their targets. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/client_figures.hpp"
#include "base/restart_figures.hpp"
#include "report/report.hpp"

namespace fsr {

class RankClients {
 public:
  // Takes the clients of a rank's report. `ranks`: number of the run's ranks.
  RankClients(const Report& report, unsigned ranks);
  std::string save() const;
  // Adds the clients that save() of another rank wrote. False: the bytes are damaged.
  bool merge(std::string_view saved, unsigned rank);
  // Makes the report's section on clients that of all ranks. Does nothing if no rank has several clients.
  void give_to(Report& report) const;

 private:
  const unsigned ranks_;
  std::vector<ClientFigures> clients_;
  std::vector<uint32_t> numbers_;  // of clients_, among those of all ranks
  RestartFigures restart_;
};

}  // namespace fsr
