// SPDX-License-Identifier: Apache-2.0
#include "overlay_links.hpp"

#include <linux/magic.h>
#include <sys/statfs.h>

#include <fstream>

#include "util/mountinfo.hpp"

namespace fsr::shim {

static bool without_index(int fd) {
  struct statfs s;
  if (fstatfs(fd, &s) != 0 || s.f_type != OVERLAYFS_SUPER_MAGIC) return false;
  const std::optional<MountEntry> mount = mount_of(fd);
  if (!mount) return true;
  auto given = [options = "," + mount->options + ","](const char* option) { return options.find(option) != std::string::npos; };
  if (given(",index=on,")) return false;
  if (given(",index=off,")) return true;
  // Only what differs from the default is shown.
  char by_default = 'N';
  std::ifstream("/sys/module/overlay/parameters/index") >> by_default;
  return by_default != 'Y';
}

bool OverlayLinks::apart(int fd, uint64_t dev) {
  {
    std::lock_guard lock(mutex_);
    for (const auto& [known, apart] : devices_)
      if (known == dev) return apart;
  }
  const bool apart = without_index(fd);
  std::lock_guard lock(mutex_);
  devices_.emplace_back(dev, apart);  // twice does no harm
  return apart;
}

void OverlayLinks::join(uint64_t mark) {
  std::lock_guard lock(mutex_);
  joined_.insert(mark);
}

bool OverlayLinks::joined(uint64_t mark) {
  std::lock_guard lock(mutex_);
  return joined_.contains(mark);
}

void OverlayLinks::forget(uint64_t mark) {
  std::lock_guard lock(mutex_);
  joined_.erase(mark);
}

}  // namespace fsr::shim
