// SPDX-License-Identifier: Apache-2.0
// Tables that follow from a model: its contexts by history, symbols that may take each other's place, and the children of
// classes.
//
// Refers to the model, which must outlive it. Can be read by several threads.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/model.hpp"

namespace fsr {

class ModelIndex {
 public:
  explicit ModelIndex(const LoadModel& model);
  // Returns the context of the longest end of the history that has one. Null: the phase has none.
  const ModelContext* longest(uint32_t phase, std::span<const SymbolId> history) const;
  // Returns the symbols that differ from this one in nothing but which listing an entry is in, or whether it is its last one.
  std::span<const SymbolId> twins(SymbolId symbol) const;
  // True: a process of the class opens directories, or files.
  bool opens(uint32_t number, bool directories) const { return !opens_[number][directories].empty(); }
  // Returns the symbols that do so.
  const std::set<SymbolId>& open_symbols(uint32_t number, bool directories) const { return opens_[number][directories]; }
  // True: a process of the class uses files that are open, and opens none.
  bool inherits_files(uint32_t number) const { return uses_open_files_[number] && !opens(number, false); }
  // Returns the symbols by which a process of the class gives an often used name its object.
  const std::set<SymbolId>& makers(uint32_t number, uint16_t hot) const;
  // True: one of any class does.
  bool any_opens(bool directories) const;
  // Returns the classes of which each process of this class starts one.
  std::span<const uint32_t> children(uint32_t number) const;

 private:
  const LoadModel& model_;
  std::unordered_map<uint64_t, const ModelContext*> contexts_;
  std::unordered_map<Symbol, std::vector<SymbolId>, SymbolHash> entries_;  // by the symbol of bucket 0
  std::map<uint32_t, std::vector<uint32_t>> children_;
  std::map<std::pair<uint32_t, uint16_t>, std::set<SymbolId>> makers_;  // by class and name
  std::vector<std::array<std::set<SymbolId>, 2>> opens_;                // by class: of files, of directories
  std::vector<bool> uses_open_files_;                                   // by class: that the process has itself
};

}  // namespace fsr
