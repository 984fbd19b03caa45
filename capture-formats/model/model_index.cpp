// SPDX-License-Identifier: Apache-2.0
#include "model/model_index.hpp"

#include "model/context_tree.hpp"

namespace fsr {

static Symbol without_bucket(Symbol s) {
  s.object.bucket = 0;
  return s;
}

ModelIndex::ModelIndex(const LoadModel& model)
    : model_(model), opens_(model.classes.size()), uses_open_files_(model.classes.size()) {
  std::map<std::pair<uint32_t, uint32_t>, double> starts;  // in one run, by class and class of the child
  for (const ModelContext& c : model.contexts) contexts_.emplace(context_key(c.phase, c.history), &c);
  each_symbol(model, [&](uint32_t number, SymbolId symbol, double n) {
    const Symbol& s = model.symbols[symbol - 1];
    if (step_kind(s) == kStartsKind) starts[{number, s.argument}] += n;
    if (s.kind == OpKind::mkdir && s.parent.relation == Relation::name && !s.error)
      makers_[{number, s.parent.bucket}].insert(symbol);
    if (s.uses_own_handle() && s.type != kDirectoryType) uses_open_files_[number] = true;
    if (opens_object(s.kind) && !s.error) opens_[number][s.kind == OpKind::opendir].insert(symbol);
  });
  for (const auto& [classes, n] : starts) {
    const double each = n / model.classes[classes.first].processes;
    if (each >= 1 && each < 2) children_[classes.first].push_back(classes.second);
  }
  for (SymbolId i = 1; i <= model.symbols.size(); ++i) {
    const Symbol& s = model.symbols[i - 1];
    if (s.object.relation == Relation::entry) entries_[without_bucket(s)].push_back(i);
  }
}

const ModelContext* ModelIndex::longest(uint32_t phase, std::span<const SymbolId> history) const {
  for (size_t k = history.size() + 1; k-- > 0;)
    if (auto found = contexts_.find(context_key(phase, history.last(k))); found != contexts_.end()) return found->second;
  return nullptr;
}

std::span<const SymbolId> ModelIndex::twins(SymbolId symbol) const {
  if (symbol == kEndOfProcess || model_.symbols[symbol - 1].object.relation != Relation::entry) return {};
  return entries_.at(without_bucket(model_.symbols[symbol - 1]));
}

const std::set<SymbolId>& ModelIndex::makers(uint32_t number, uint16_t hot) const {
  static const std::set<SymbolId> kNone;
  auto found = makers_.find({number, hot});
  return found == makers_.end() ? kNone : found->second;
}

bool ModelIndex::any_opens(bool directories) const {
  return std::any_of(opens_.begin(), opens_.end(), [&](const auto& of_class) { return !of_class[directories].empty(); });
}

std::span<const uint32_t> ModelIndex::children(uint32_t number) const {
  auto found = children_.find(number);
  return found == children_.end() ? std::span<const uint32_t>() : found->second;
}

}  // namespace fsr
