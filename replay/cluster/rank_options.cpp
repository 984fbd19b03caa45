// SPDX-License-Identifier: Apache-2.0
#include "cluster/rank_options.hpp"

#include "util/units.hpp"

namespace fsr {

void add_rank_options(Command& command, ClusterOptions& options) {
  command.add("--ranks", options.ranks, "share the work among so many processes (default 1)").within(1, 4096).stands_for("N");
  command.add_with("--patience", options.timeout, parse_time_span, "give up a silent rank after this (default 60s)")
      .stands_for("TIME");
}

}  // namespace fsr
