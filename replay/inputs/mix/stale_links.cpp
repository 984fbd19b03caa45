// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/stale_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "targets/blocking_session.hpp"

namespace fsr {

unsigned links_to_read(const MixPlan& plan, uint64_t requests, unsigned streams) {
  constexpr double kMore = 1.25, kRehearsed = 24, kMost = 20'000;
  return unsigned(std::min(kMost, std::ceil(double(requests) * plan.share(Action::readlink) * kMore / streams) + kRehearsed));
}

std::string make_links_stale(const std::string& url, const std::vector<StreamFiles>& directories, Clock& clock) try {
  constexpr int64_t kTimeout = 10'000'000'000;  // ns
  if (url.empty()) return "can't change the links through a second client, because the server's address is not known";
  const std::unique_ptr<Target> target = open_target(url, {.clock = &clock});
  BlockingSession session(*target, clock, kTimeout);
  auto look_up = [&](ObjectId object, ObjectId parent, const std::string& name) -> const Outcome& {
    const Outcome& found = session.perform({.kind = OpKind::lookup, .object = object, .parent = parent, .name = name});
    if (found.error) throw std::runtime_error(fmt::format("{}: {}: {}", url, name, strerror(found.error)));
    return found;
  };
  for (const StreamFiles& s : directories) {
    look_up(s.directory, kRootObject, s.name);
    look_up(s.symlinks, s.directory, "sym");
    for (const Spare& link : s.spare_symlinks) {
      Attr owner = look_up(link.object, s.symlinks, link.name).attr;
      owner.valid = kAttrUid | kAttrGid;
      const Outcome& set = session.perform({.kind = OpKind::setattr, .object = link.object, .set = &owner});
      if (set.error)
        throw std::runtime_error(
            fmt::format("{}: can't set the owner of the symbolic link sym/{}: {}", url, link.name, strerror(set.error)));
    }
  }
  return "";
} catch (const std::runtime_error& e) {
  return e.what();
}

}  // namespace fsr
