// SPDX-License-Identifier: Apache-2.0
// Published mixes, in percent; docs/mixfile.md names the sources.
#include <fmt/format.h>

#include <cmath>

#include "mix/mix.hpp"
#include "mix/procedures.hpp"

namespace fsr {

namespace {

using Weights = std::vector<std::pair<std::string, double>>;

const std::vector<std::pair<std::string, Mix>>& mixes() {
  static const auto* all = [] {
    const Weights nhfsstone = {{"lookup", 34}, {"read", 22},  {"write", 15}, {"getattr", 13}, {"readlink", 8},
                               {"readdir", 3}, {"create", 2}, {"remove", 1}, {"fsstat", 1},   {"setattr", 1}};
    auto* list = new std::vector<std::pair<std::string, Mix>>;
    auto add = [&](const char* name, unsigned version, const Weights& weights) {
      list->emplace_back(name, make_mix(version, weights, fmt::format("built-in {}, NFSv{}", name, version)));
    };
    add("nhfsstone", 2, nhfsstone);
    add("laddis", 2, nhfsstone);  // kept by SFS 1
    add("sfs97-v2", 2,
        {{"lookup", 36},
         {"getattr", 26},
         {"read", 14},
         {"write", 7},
         {"readlink", 7},
         {"readdir", 6},
         {"setattr", 1},
         {"create", 1},
         {"remove", 1},
         {"fsstat", 1}});
    add("sfs97-v3", 3,
        {{"lookup", 27},
         {"read", 18},
         {"getattr", 11},
         {"write", 9},
         {"readdirplus", 9},
         {"readlink", 7},
         {"access", 7},
         {"commit", 5},
         {"readdir", 2},
         {"setattr", 1},
         {"create", 1},
         {"remove", 1},
         {"fsstat", 1},
         {"fsinfo", 1}});
    add("sfs2008-v3", 3,
        {{"getattr", 26},
         {"lookup", 24},
         {"read", 18},
         {"access", 11},
         {"write", 10},
         {"setattr", 4},
         {"readdirplus", 2},
         {"readlink", 1},
         {"readdir", 1},
         {"create", 1},
         {"remove", 1},
         {"fsstat", 1}});
    return list;
  }();
  return *all;
}

}  // namespace

double Mix::weight(std::string_view name) const {
  for (const MixProcedure& p : procedures)
    if (p.name == name) return p.weight;
  return 0;
}

Mix make_mix(unsigned nfs_version, const Weights& weights, std::string dialect) {
  Mix mix;
  mix.nfs_version = nfs_version;
  mix.dialect = std::move(dialect);
  for (const char* name : nfs_procedures(nfs_version)) mix.procedures.push_back({name, 0, 0});
  double total = 0;
  for (const auto& [name, weight] : weights) {
    const int i = nfs_procedure_index(nfs_version, name);
    if (i < 0) throw MixError(fmt::format("{}: NFSv{} has no procedure '{}'", mix.dialect, nfs_version, name));
    if (!(weight >= 0) || !std::isfinite(weight))
      throw MixError(fmt::format("{}: {}: expected a weight of 0 or more, found {}", mix.dialect, name, weight));
    mix.procedures[size_t(i)].weight += weight;
    total += weight;
  }
  if (!(total > 0)) throw MixError(mix.dialect + ": the mix has no calls");
  for (MixProcedure& p : mix.procedures) {
    p.count = p.weight < 1e18 ? uint64_t(std::llround(p.weight)) : 0;
    p.weight /= total;
  }
  return mix;
}

const Mix* built_in_mix(std::string_view name) {
  for (const auto& [known, mix] : mixes())
    if (known == name) return &mix;
  return nullptr;
}

std::vector<std::string_view> built_in_mixes() {
  std::vector<std::string_view> names;
  for (const auto& [name, mix] : mixes()) names.push_back(name);
  return names;
}

std::string built_in_mix_names() {
  std::string names;
  for (const auto& [name, mix] : mixes()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace fsr
