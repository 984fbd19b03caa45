// SPDX-License-Identifier: Apache-2.0
#include "file_target.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "session.hpp"

namespace fsr {
namespace {

class FileTarget final : public Target {
 public:
  FileTarget(std::string path, UniqueFd root, const TargetOptions& options)
      : path_(std::move(path)), shared_(std::make_shared<FileShared>(std::move(root), options)) {}

  std::string name() const override { return "file:" + path_; }
  Fidelity fidelity(const Op& op) const override { return shared_->tree.expressible(op); }
  std::unique_ptr<Session> open_session() override { return std::make_unique<FileSession>(shared_); }
  std::vector<std::pair<std::string, uint64_t>> counters() const override { return shared_->tree.counters(); }

  Space space() override {
    struct statvfs fs;
    if (fstatvfs(shared_->tree.objects().root(), &fs) != 0) return {};
    return {uint64_t(fs.f_blocks) * fs.f_frsize, uint64_t(fs.f_bavail) * fs.f_frsize};
  }

  bool empty() override {
    DIR* dir = opendir(path_.c_str());
    if (!dir) throw std::runtime_error(path_ + ": " + strerror(errno));
    bool found = false;
    while (const dirent* entry = readdir(dir))
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) found = true;
    closedir(dir);
    return !found;
  }

 private:
  std::string path_;
  std::shared_ptr<FileShared> shared_;
};

// One descriptor for each recorded handle: as many as we may have.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::unique_ptr<Target> open_file(const std::string& url, const TargetOptions& options) {
  std::string path = url.substr(strlen("file:"));
  if (path.starts_with("//")) path.erase(0, 2);  // file:///dir
  if (path.empty()) throw std::runtime_error(url + ": expected file:DIRECTORY");
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) throw std::runtime_error(path + ": " + strerror(errno));
  UniqueFd root(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) throw std::runtime_error(path + ": " + strerror(errno));
  raise_descriptor_limit();
  umask(0);
  return std::make_unique<FileTarget>(std::move(path), std::move(root), options);
}

}  // namespace

const TargetPlugin file_plugin = {"file", "file:DIR  a directory; DIR alone means the same", open_file};

}  // namespace fsr
