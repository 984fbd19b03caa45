// SPDX-License-Identifier: Apache-2.0
#include "file_target.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "base/opens_by_name.hpp"
#include "base/past_cache.hpp"
#include "mount_requests.hpp"
#include "session.hpp"
#include "targets/client_limits.hpp"
#include "targets/scheme.hpp"
#include "util/mountinfo.hpp"

namespace fsr {
namespace {

constexpr std::string_view kDirectOption = "?direct=1", kPastCacheOption = "?past-cache=1", kByPathOption = "?by-path=1",
                           kByRelativePathOption = "?by-path=relative";

constexpr OpMapping kFileMappings[] = {{"file", FileTree::expressible}};

class FileTarget final : public Target, public PastCache, public OpensByName {
 public:
  FileTarget(std::string path, FileAccess access, const TargetOptions& options)
      : path_(std::move(path)), access_(access), options_(options) {
    struct stat st;
    if (stat(path_.c_str(), &st) == 0) {
      attach();
      return;
    }
    // The first session creates the directory, so that nothing changes before. A missing parent is reported at once.
    missing_ = errno == ENOENT;
    if (!missing_ || stat(parent().c_str(), &st) != 0) throw std::runtime_error(path_ + ": " + strerror(errno));
  }

  std::string name() const override { return "file:" + path_; }
  Fidelity fidelity(const Op& op) const override { return FileTree::expressible(op, options_.privileged); }
  const OpMapping* mapping() const override { return &kFileMappings[0]; }

  std::unique_ptr<TargetSession> open_session() override {
    std::lock_guard lock(mutex_);
    if (!shared_) attach();
    return std::make_unique<FileSession>(shared_);
  }

  std::vector<std::pair<std::string, uint64_t>> counters() const override {
    std::lock_guard lock(mutex_);
    return shared_ ? shared_->tree.counters() : std::vector<std::pair<std::string, uint64_t>>();
  }

  std::vector<std::pair<std::string, uint64_t>> requests() const override { return mount_requests(path_); }

  bool past_cache() const override {
    std::lock_guard lock(mutex_);
    return shared_ && shared_->tree.past_cache();
  }

  bool opens_by_name() const override {
    std::lock_guard lock(mutex_);
    return shared_ && shared_->tree.opens_by_name();
  }

  std::string server_url() const override { return mount_url(path_); }

  void forget_name(ObjectId object, ObjectId parent, std::string_view name) override {
    std::lock_guard lock(mutex_);
    if (shared_) shared_->tree.objects().forget_name(object, parent, name);
  }

  Space space() override {
    struct statvfs fs;
    if (statvfs(missing_ ? parent().c_str() : path_.c_str(), &fs) != 0) return {};
    return {uint64_t(fs.f_blocks) * fs.f_frsize, uint64_t(fs.f_bavail) * fs.f_frsize};
  }

  std::vector<std::string> mount_points() override {
    std::lock_guard lock(mutex_);
    return shared_ ? mount_points_below(shared_->tree.objects().root()) : std::vector<std::string>();
  }

  bool empty() override {
    if (missing_) return true;
    DIR* dir = opendir(path_.c_str());
    if (!dir) throw std::runtime_error(path_ + ": " + strerror(errno));
    bool found = false;
    while (const dirent* entry = readdir(dir))
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && entry->d_name != kLostAndFound) found = true;
    closedir(dir);
    return !found;
  }

 private:
  std::string parent() const {
    std::string above = path_.substr(0, path_.find_last_not_of('/') + 1);
    size_t slash = above.rfind('/');
    return slash == std::string::npos ? "." : above.substr(0, slash + 1);
  }

  void attach() {
    if (missing_ && mkdir(path_.c_str(), 0755) != 0 && errno != EEXIST) throw std::runtime_error(path_ + ": " + strerror(errno));
    missing_ = false;
    UniqueFd root(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) throw std::runtime_error(path_ + ": " + strerror(errno));
    shared_ = std::make_shared<FileShared>(std::move(root), options_, access_);
  }

  const std::string path_;
  const FileAccess access_;
  const TargetOptions options_;
  mutable std::mutex mutex_;
  std::atomic<bool> missing_ = false;
  std::shared_ptr<FileShared> shared_;  // null until the directory exists
};

struct Location {
  std::string path;
  FileAccess access;
};

Location parse_location(const std::string& url) {
  std::string path = url.substr(strlen("file:"));
  if (path.starts_with("//")) path.erase(0, 2);  // file:///dir
  FileAccess access = FileAccess::as_recorded;
  for (const auto& [option, means] : {std::pair(kDirectOption, FileAccess::direct),
                                      {kPastCacheOption, FileAccess::past_cache},
                                      {kByPathOption, FileAccess::by_absolute_path},
                                      {kByRelativePathOption, FileAccess::by_relative_path}})
    if (path.ends_with(option)) {
      path.resize(path.size() - option.size());
      access = means;
      break;
    }
  // A directory's name may have a question mark. If the directory does not exist, it is probably a misspelt option.
  if (struct stat st; path.find('?') != path.npos && stat(path.c_str(), &st) != 0)
    throw std::runtime_error(url + ": unknown option '" + path.substr(path.find('?') + 1) +
                             "', expected direct=1, past-cache=1, by-path=1 or by-path=relative");
  if (path.empty()) throw std::runtime_error(url + ": expected file:DIRECTORY or file:DIRECTORY?direct=1");
  return {std::move(path), access};
}

std::unique_ptr<Target> open_file(const std::string& url, const TargetOptions& options) {
  Location location = parse_location(url);
  raise_descriptor_limit();
  return std::make_unique<FileTarget>(std::move(location.path), location.access, options);
}

}  // namespace

void require_directory(const std::string& url) {
  const std::string_view scheme = scheme_of(url);
  if (!scheme.empty() && scheme != "file") return;
  if (scheme.empty()) refuse_near_url(url);
  const std::string path = directory_of(url);
  if (struct stat st; stat(path.c_str(), &st) != 0) throw std::runtime_error(path + ": " + strerror(errno));
}

std::string directory_of(const std::string& url) { return parse_location(url.starts_with("file:") ? url : "file:" + url).path; }

const TargetPlugin file_plugin = {"file", "file:DIR[?direct=1|?past-cache=1]  a directory; DIR alone means the same", open_file,
                                  kFileMappings};

}  // namespace fsr
