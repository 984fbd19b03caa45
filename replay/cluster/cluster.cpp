// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/forked.hpp"
#include "cluster/star.hpp"

namespace fsr {

void Cluster::meet() {
  collect("");
  tell("");
}

bool Cluster::any(bool mine) {
  const std::vector<std::string> answers = collect(mine ? "y" : "");
  const bool somewhere = std::any_of(answers.begin(), answers.end(), [](const std::string& answer) { return !answer.empty(); });
  return !tell(somewhere ? "y" : "").empty();
}

std::string Cluster::first_failure(std::string_view mine) {
  const std::vector<std::string> failures = collect(mine);
  std::string first;
  for (unsigned rank = 0; rank < failures.size() && first.empty(); ++rank)
    if (!failures[rank].empty()) first = (size() == 1 ? "" : name_of(rank) + ": ") + failures[rank];
  return tell(first);
}

std::string Cluster::name_of(unsigned rank) const {
  return size() == 1 ? "" : fmt::format("rank {} ({})", rank, hosts().at(rank));
}

std::unique_ptr<Cluster> open_cluster(const ClusterOptions& options) {
  return std::make_unique<Star>(fork_ranks(options), options.patience);
}

}  // namespace fsr
