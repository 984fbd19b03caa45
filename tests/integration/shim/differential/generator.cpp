// SPDX-License-Identifier: Apache-2.0
#include "generator.hpp"

#include <sys/stat.h>

#include <string_view>

namespace differential {

namespace {

// A guess of what an actor has, by which calls that reach a file are preferred.
struct Model {
  bool alive = false;
  uint32_t open = 0, mapped = 0;  // bits of slots
};

// Areas that are no calls of their own but values of arguments.
struct ValueArea {
  const char* name;
  bool (*contains)(const Op& op);
};

std::string_view name_of(const Op& op) { return calls()[op.call].name; }

bool has_dots(const Op& op) {
  const auto& kinds = calls()[op.call].kinds;
  for (size_t i = 0; i < kinds.size(); ++i) {
    std::string path = kinds[i] == &kPath ? path_text(op.args[i]) : "";
    if (path.starts_with(".") || path.find("/.") != std::string::npos) return true;
  }
  return false;
}

const ValueArea kValueAreas[] = {
    {"dots", has_dots},
    {"special-files", [](const Op& op) { return name_of(op) == "mknodat" && op.args[2] != S_IFREG; }},
    {"unchanged-owner",
     [](const Op& op) {
       size_t uid = name_of(op) == "fchown" ? 1 : 2;
       return (uid == 1 || name_of(op) == "fchownat") && op.args[uid] == -1 && op.args[uid + 1] == -1;
     }},
};

class Generator {
 public:
  Generator(uint64_t seed, const Areas& without) : random_(seed), without_(without) {
    int roles = without.contains(kCapabilities) ? kRootWithout : kRoles;
    for (int n = 1 + int(random_.below(3)); n > 0; --n) actors_[random_.below(uint64_t(roles))].alive = true;
    for (size_t i = 0; i < calls().size(); ++i) {
      const Call& call = calls()[i];
      if (!without.contains(call.area)) bag_.insert(bag_.end(), call.weight, uint8_t(i));
    }
  }

  Op next(bool beginning) {
    if (!actors_[actor_].alive || random_.chance(25)) choose_actor();
    Op op;
    op.actor = uint8_t(actor_);
    static const char* const kFirst[] = {"mkdirat", "openat", "openat", "symlinkat", "mknodat"};
    op.call = beginning ? uint8_t(find_call(kFirst[random_.below(std::size(kFirst))])) : bag_[random_.below(bag_.size())];
    const Call& call = calls()[op.call];
    do {
      for (size_t i = 0; i < call.kinds.size(); ++i) op.args[i] = argument(*call.kinds[i]);
    } while (left_out(op));
    return op;
  }

 private:
  bool left_out(const Op& op) const {
    for (const ValueArea& area : kValueAreas) {
      if (without_.contains(area.name) && area.contains(op)) return true;
    }
    return false;
  }

  void choose_actor() {
    do {
      actor_ = random_.below(kActors);
    } while (!actors_[actor_].alive);
  }

  int64_t from(uint32_t bits, const Kind& kind) {
    if (bits == 0 || random_.chance(5)) return kind.pick(random_);
    uint64_t which = random_.below(uint64_t(__builtin_popcount(bits)));
    for (; which > 0; --which) bits &= bits - 1;
    return __builtin_ctz(bits);
  }

  int64_t argument(const Kind& kind) {
    Model& model = actors_[actor_];
    int64_t value;
    switch (kind.use) {
      case Kind::Use::new_slot:
        model.open |= 1u << (value = kind.pick(random_));
        return value;
      case Kind::Use::slot:
        return from(model.open, kSlot);
      case Kind::Use::directory:
        return random_.chance(70) ? kWorkingDirectory : from(model.open, kSlot);
      case Kind::Use::new_map:
        model.mapped |= 1u << (value = kind.pick(random_));
        return value;
      case Kind::Use::map:
        return from(model.mapped, kMap);
      case Kind::Use::new_actor:
        value = kind.pick(random_);
        if (!actors_[value].alive) actors_[value] = model;
        return value;
      default:
        return kind.pick(random_);
    }
  }

  Random random_;
  const Areas& without_;
  std::vector<uint8_t> bag_;  // indices of calls, as often as they weigh
  Model actors_[kActors];
  uint64_t actor_ = 0;
};

}  // namespace

Areas all_areas() {
  Areas areas = {kCapabilities};
  for (const ValueArea& area : kValueAreas) areas.insert(area.name);
  for (const Call& call : calls()) {
    if (*call.area != '\0') areas.insert(call.area);
  }
  return areas;
}

void generate(uint64_t seed, uint32_t count, const Areas& without, Sequence* sequence) {
  Generator generator(seed, without);
  sequence->count = count;
  for (uint32_t i = 0; i < count; ++i) sequence->ops[i] = generator.next(i < 10);
}

}  // namespace differential
