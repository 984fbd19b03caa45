// SPDX-License-Identifier: Apache-2.0
#include "workloads/mix_plan.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>
#include <stdexcept>

#include "base/past_cache.hpp"
#include "base/target.hpp"
#include "op.hpp"

namespace fsr {

namespace {

struct Rule {
  const char* name;
  Action action;
};

// Rules for versions 2 and 3. No client can request the procedures that are missing here: root and wrcache.
constexpr Rule kRules3[] = {
    {"null", Action::null},       {"getattr", Action::getattr}, {"setattr", Action::setattr},
    {"lookup", Action::lookup},   {"access", Action::access},   {"readlink", Action::readlink},
    {"read", Action::read},       {"write", Action::write},     {"create", Action::create},
    {"remove", Action::remove},   {"rename", Action::rename},   {"link", Action::link},
    {"symlink", Action::symlink}, {"mkdir", Action::mkdir},     {"rmdir", Action::rmdir},
    {"mknod", Action::mknod},     {"readdir", Action::readdir}, {"readdirplus", Action::readdirplus},
    {"fsstat", Action::fsstat},   {"fsinfo", Action::fsinfo},   {"pathconf", Action::pathconf},
    {"commit", Action::commit},
};
// Rules for version 4. Clients add the operations that are missing here by themselves.
constexpr Rule kRules4[] = {
    {"access", Action::access},     {"close", Action::close},
    {"commit", Action::commit},     {"create", Action::make},
    {"getattr", Action::getattr},   {"link", Action::link},
    {"lock", Action::lock},         {"lockt", Action::test_lock},
    {"locku", Action::unlock},      {"lookup", Action::lookup},
    {"open", Action::open},         {"read", Action::read},
    {"readdir", Action::readdir},   {"readlink", Action::readlink},
    {"remove", Action::remove_any}, {"rename", Action::rename},
    {"setattr", Action::setattr},   {"write", Action::write},
    {"allocate", Action::allocate}, {"deallocate", Action::deallocate},
    {"seek", Action::seek},         {"copy", Action::copy},
    {"clone", Action::copy},        {"read_plus", Action::read},
    {"write_same", Action::write},
};

// Returns an operation as `action` would issue it, to ask a target whether it can express it.
Op probe(Action action) {
  static constexpr Attr kMode{.valid = kAttrMode, .mode = 0666};
  Op op;
  op.object = kProbeObject;
  switch (action) {
    case Action::null:
      op.kind = OpKind::null;
      break;
    case Action::getattr:
      op.kind = OpKind::getattr;
      break;
    case Action::setattr:
      op.kind = OpKind::setattr;
      op.set = &kMode;
      break;
    case Action::lookup:
      op.kind = OpKind::lookup;
      break;
    case Action::access:
      op.kind = OpKind::access;
      break;
    case Action::readlink:
      op.kind = OpKind::readlink;
      break;
    case Action::read:
      op.kind = OpKind::read;
      break;
    case Action::write:
      op.kind = OpKind::write;
      break;
    case Action::create:
      op.kind = OpKind::create;
      op.mode = S_IFREG | 0666;
      break;
    case Action::remove:
    case Action::remove_any:
      op.kind = OpKind::unlink;
      break;
    case Action::rename:
      op.kind = OpKind::rename;
      break;
    case Action::link:
      op.kind = OpKind::link;
      break;
    case Action::symlink:
      op.kind = OpKind::symlink;
      break;
    case Action::make:
    case Action::mkdir:
      op.kind = OpKind::mkdir;
      op.mode = S_IFDIR | 0777;
      break;
    case Action::rmdir:
      op.kind = OpKind::rmdir;
      break;
    case Action::mknod:
      op.kind = OpKind::mknod;
      op.mode = S_IFIFO | 0666;
      break;
    case Action::readdir:
      op.kind = OpKind::readdir;
      break;
    case Action::readdirplus:
      op.kind = OpKind::readdirplus;
      break;
    case Action::fsstat:
    case Action::fsinfo:
    case Action::pathconf:
      op.kind = OpKind::statfs;
      break;
    case Action::commit:
      op.kind = OpKind::fsync;
      break;
    case Action::open:
      op.kind = OpKind::open;
      break;
    case Action::close:
      op.kind = OpKind::release;
      break;
    case Action::lock:
    case Action::unlock:
      op.kind = OpKind::setlk;
      op.mode = F_WRLCK;
      break;
    case Action::test_lock:
      op.kind = OpKind::getlk;
      op.mode = F_WRLCK;
      break;
    case Action::allocate:
    case Action::deallocate:
      op.kind = OpKind::fallocate;
      op.length = 1;
      break;
    case Action::seek:
      op.kind = OpKind::lseek;
      break;
    case Action::copy:
      op.kind = OpKind::copy_file_range;
      op.object2 = kProbeObject;
      break;
  }
  return op;
}

class Planning {
 public:
  Planning(const Mix& mix, const Target& target, bool shared) : target_(target), shared_(shared) {
    plan_.nfs_version = mix.nfs_version;
    const auto* cached = dynamic_cast<const PastCache*>(&target);
    plan_.past_cache = cached && cached->past_cache();
    plan_.traits = mix.traits;
    double load = 0;
    for (const MixProcedure& from : mix.procedures) {
      PlannedProcedure& to = plan_.procedures.emplace_back();
      to.name = from.name;
      to.asked = from.weight;
      express(to);
      if (!to.internal) load += from.weight;
    }
    leave_out_internal(load);
  }

  MixPlan run() {
    for (PlannedProcedure& p : plan_.procedures) {
      p.planned = p.expressed ? p.asked : 0;
      if (p.asked > 0 && !p.expressed && !p.internal) p.why = "no client can send this procedure";
      if (p.planned > 0 && target_.fidelity(probe(p.action)) == Fidelity::impossible) {
        p.planned = 0;
        p.why = target_.name() + " has no such operation";
      }
    }
    balance();
    if (shared_ && sum({Action::create, Action::open}) <= 0)
      cut({Action::rename}, 0, "streams that share a directory rename files that they have made, and this mix makes none");
    normalise();
    for (const PlannedProcedure& p : plan_.procedures)
      if (!p.why.empty())
        plan_.notes.push_back(
            fmt::format("{}: {:.2f} % requested, {:.2f} % issued: {}", p.name, p.asked * 100, p.planned * 100, p.why));
    return std::move(plan_);
  }

 private:
  void express(PlannedProcedure& p) {
    const bool four = plan_.nfs_version == 4;
    auto find = [&](auto& rules) {
      for (const Rule& rule : rules)
        if (p.name == rule.name) {
          p.action = rule.action;
          p.expressed = true;
        }
    };
    four ? find(kRules4) : find(kRules3);
    p.internal = four && !p.expressed;
  }

  void leave_out_internal(double load) {
    if (load <= 0) throw std::runtime_error("this mix has no operation that a load could issue");
    std::string names;
    for (PlannedProcedure& p : plan_.procedures) {
      if (p.internal && p.asked > 0) names += (names.empty() ? "" : ", ") + p.name;
      p.asked = p.internal ? 0 : p.asked / load;
    }
    if (!names.empty())
      plan_.notes.push_back(
          fmt::format("sent by the client itself as needed ({:.1f} % of the mix): {}", (1 - load) * 100, names));
  }

  double sum(std::initializer_list<Action> actions) const {
    double total = 0;
    for (Action a : actions) total += plan_.share(a);
    return total;
  }

  // Reduces the sum of the actions' shares to `most`.
  void cut(std::initializer_list<Action> actions, double most, const char* why) {
    const double total = sum(actions);
    if (total <= most + 1e-12) return;
    for (PlannedProcedure& p : plan_.procedures)
      for (Action a : actions)
        if (p.expressed && p.action == a && p.planned > 0) {
          p.planned *= most / total;
          p.why = why;
        }
  }

  void balance() {
    constexpr const char* kMore = "creations exceed removals";
    constexpr const char* kLess = "removals exceed creations";
    if (plan_.nfs_version == 4) {
      cut({Action::open}, sum({Action::close}), "opens exceed closes");
      cut({Action::close}, sum({Action::open}), "closes exceed opens");
      cut({Action::make, Action::link}, sum({Action::remove_any}), kMore);
      cut({Action::remove_any}, sum({Action::make, Action::link, Action::open}), kLess);
      return;
    }
    cut({Action::mkdir}, sum({Action::rmdir}), kMore);
    cut({Action::rmdir}, sum({Action::mkdir}), kLess);
    cut({Action::symlink, Action::link, Action::mknod}, sum({Action::remove}), kMore);
    cut({Action::remove}, sum({Action::symlink, Action::link, Action::mknod, Action::create}), kLess);
  }

  void normalise() {
    double total = 0;
    for (const PlannedProcedure& p : plan_.procedures) total += p.planned;
    if (total <= 0)
      throw std::runtime_error(target_.name() +
                               ": can perform no operation of this mix; use a mix with operations that this target can express, "
                               "and with removals for its creations");
    for (PlannedProcedure& p : plan_.procedures) p.planned /= total;
  }

  const Target& target_;
  const bool shared_;
  MixPlan plan_;
};

}  // namespace

double MixPlan::share(Action action) const {
  double total = 0;
  for (const PlannedProcedure& p : procedures)
    if (p.expressed && p.action == action) total += p.planned;
  return total;
}

bool plan_removes(const MixPlan& plan) { return plan.share(Action::remove) + plan.share(Action::remove_any) > 0; }

MixPlan plan_mix(const Mix& mix, const Target& target, bool shared) { return Planning(mix, target, shared).run(); }

}  // namespace fsr
