// SPDX-License-Identifier: Apache-2.0
// Divides a mix among several ranks, and adds up their results.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "inputs/mix/mix_input.hpp"
#include "trace/bytes.hpp"

namespace fsr {

// Deals streams to the ranks in turn, or shared directories with their streams, so that one rank alone prepares a directory. Each
// rank gets load, calls and bytes in proportion.
void MixInput::take_share(unsigned rank, unsigned ranks, bool) {
  const unsigned all = options_.streams;
  if (all < ranks) throw std::runtime_error(fmt::format("--streams {}: expected at least one for each of {} ranks", all, ranks));
  const unsigned directories = options_.directories;
  if (directories && directories < ranks)
    throw std::runtime_error(fmt::format("--directories {}: expected at least one for each of {} ranks", directories, ranks));
  std::vector<unsigned> numbers;
  std::vector<std::string> names;
  uint64_t calls = 0;
  for (unsigned stream = 0; stream < all; ++stream) {
    if ((directories ? stream % directories : stream) % ranks != rank) continue;
    numbers.push_back(options_.numbers.empty() ? stream : options_.numbers.at(stream));
    if (!options_.names.empty()) names.push_back(options_.names.at(stream));
    calls += options_.calls / all + (stream < options_.calls % all);
  }
  if (options_.calls && calls == 0)
    throw std::runtime_error(fmt::format("--calls {}: expected at least one for each of {} ranks", options_.calls, ranks));
  options_.numbers = numbers;
  options_.names = names;
  options_.streams = unsigned(numbers.size());
  options_.calls = calls;
  own_directories_ = directories / ranks + (rank < directories % ranks);
  share_ = double(numbers.size()) / all;
  for (double& load : options_.loads) load *= share_;
  options_.working_set = uint64_t(double(options_.working_set) * share_);
  if (rank != 0) options_.svg.clear();
  rank_ = rank;
}

std::string MixInput::part() const {
  ByteWriter out;
  out.varint(calls_);
  out.varint(dealt().size());
  for (const Dealt& procedure : dealt())
    for (uint64_t count : procedure) out.varint(count);
  const ProcedureCounts after = requests_after_.value_or(requests_before_);
  out.varint(after.size());
  for (const auto& [name, count] : after) {
    const auto before = std::find_if(requests_before_.begin(), requests_before_.end(),
                                     [&, &wanted = name](const auto& entry) { return entry.first == wanted; });
    out.text(name);
    out.varint(before == requests_before_.end() ? count : count - std::min(count, before->second));
  }
  return std::string(out.view());
}

void MixInput::add_part(std::string_view saved, bool same_wire) {
  ByteReader in(saved);
  others_calls_ += in.varint();
  const uint64_t procedures = in.varint();
  if (procedures > in.left()) in.fail();
  others_dealt_.resize(std::max<size_t>(others_dealt_.size(), in.ok() ? procedures : 0));
  for (uint64_t i = 0; in.ok() && i < procedures; ++i)
    for (uint64_t& count : others_dealt_[i]) count += in.varint();
  for (uint64_t requests = in.varint(); in.ok() && requests > 0; --requests) {
    const std::string name(in.text());
    const uint64_t count = in.varint();
    if (!same_wire) others_requests_.emplace_back(name, count);
  }
  if (!in.ok() || in.left() != 0) throw std::runtime_error("damaged counts of a mix from another rank");
}

std::vector<Dealt> MixInput::dealt_by_all() const {
  std::vector<Dealt> all = dealt();
  all.resize(std::max(all.size(), others_dealt_.size()));
  for (size_t i = 0; i < others_dealt_.size(); ++i)
    for (unsigned kind = 0; kind < kOpKinds; ++kind) all[i][kind] += others_dealt_[i][kind];
  return all;
}

ProcedureCounts MixInput::requests_of_all() const {
  ProcedureCounts all = requests_after_.value_or(ProcedureCounts());
  for (const auto& [name, count] : others_requests_) {
    auto same = std::find_if(all.begin(), all.end(), [&, &wanted = name](const auto& entry) { return entry.first == wanted; });
    if (same == all.end())
      all.emplace_back(name, count);
    else
      same->second += count;
  }
  return all;
}

}  // namespace fsr
