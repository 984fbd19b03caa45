// SPDX-License-Identifier: Apache-2.0
#include "mount_watch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "mount.hpp"

namespace fsr::shim {

namespace {

constexpr size_t kMostNamedMounts = 100;
constexpr const char* kOwnMounts = "/proc/self/mountinfo";

}  // namespace

MountWatch::MountWatch(std::string directory, std::string command, std::function<bool(unsigned long)> restrict)
    : directory_(std::move(directory)),
      restrict_(std::move(restrict)),
      looked_fd_(open(kOwnMounts, O_RDONLY | O_CLOEXEC)),
      changes_fd_(open(kOwnMounts, O_RDONLY | O_CLOEXEC)) {
  tables_.push_back({"self", true, {}});
  if (!command.empty()) tables_.push_back({command, false, {}});
  for (MountTable& table : tables_) look_at(table, nullptr);
}

MountWatch::~MountWatch() {
  close(looked_fd_);
  close(changes_fd_);
}

std::vector<std::string> MountWatch::look(int64_t now) {
  std::vector<std::string> lines;
  pollfd changes{looked_fd_, POLLPRI, 0};  // proc(5): as an exceptional condition
  if (poll(&changes, 1, 0) > 0) look_at(tables_[0], &lines);
  if (now < looked_at_ + kPause) return lines;
  looked_at_ = now;
  for (size_t i = 1; i < tables_.size(); ++i) look_at(tables_[i], &lines);
  return lines;
}

// Without `lines`, what is there is only remembered.
void MountWatch::look_at(MountTable& table, std::vector<std::string>* lines) {
  const std::vector<MountEntry> all = mounts(table.process);
  std::map<uint64_t, const MountEntry*> by_id;
  for (const MountEntry& m : all) by_id[m.id] = &m;
  auto over_capture = [&](const MountEntry& m) {
    for (auto up = by_id.find(m.parent); up != by_id.end() && up->second->parent != up->first;
         up = by_id.find(up->second->parent))
      if (up->second->type == kMountType && up->second->source == directory_) return true;
    return false;
  };
  std::set<std::pair<uint64_t, uint64_t>> now;
  for (const MountEntry& m : all) {
    if (!lies_inside(m, directory_) || !now.insert({m.id, m.dev}).second || table.known.contains({m.id, m.dev}) || !lines)
      continue;
    const std::string what = mount_text(m, directory_);
    if (over_capture(m)) {
      lines->push_back("not seen, mounted over the capture: " + what);
      add_line(report_.not_seen, what);
    } else if (table.beneath) {
      lines->push_back("mounted during the capture, and captured: " + what);
      add_line(report_.below, what);
      const unsigned long flags = flags_of(m) & (MS_NOSUID | MS_NODEV);
      if (flags && !restrict_(flags))
        lines->push_back(
            "set-id programs or devices of this mount work in the capture, because fsshim could not set nosuid or nodev: " +
            what);
    }
  }
  table.known = std::move(now);
}

void MountWatch::add_line(std::vector<std::string>& report, const std::string& what) {
  std::lock_guard lock(mutex_);
  if (std::find(report.begin(), report.end(), what) != report.end()) return;
  if (report.size() < kMostNamedMounts)
    report.push_back(what);
  else
    ++unnamed_;
}

MountWatch::MountReport MountWatch::report() const {
  std::lock_guard lock(mutex_);
  MountReport report = report_;
  if (unnamed_) report.not_seen.push_back(std::to_string(unnamed_) + " more mounts, which are not named");
  return report;
}

}  // namespace fsr::shim
