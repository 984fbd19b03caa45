// SPDX-License-Identifier: Apache-2.0
// Actions of `fsreplay target`, which uses a target by hand, through the same interface as a run. One thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "targets/blocking_session.hpp"

namespace fsr {

// Paths are relative to the target's root; "" is the root itself. Throws std::system_error "URL: PATH" for an error of the
// target, and std::runtime_error for an action that is not possible.
class TargetActions {
 public:
  TargetActions(Target& target, Clock& clock) : target_(target), session_(target, clock) {}

  void stat(const std::string& path);
  void list(const std::string& path);
  void print(const std::string& path);  // prints the content to standard output
  // Writes all that can be read from fd. Replaces an existing file only when everything is written.
  void put(const std::string& path, int fd);
  void make_directory(const std::string& path);
  void remove(const std::string& path);  // removes a file or an empty directory
  void move(const std::string& from, const std::string& to);

 private:
  struct Found {
    ObjectId object = kNoObject;
    Attr attr;
  };
  // Name in a directory.
  struct NameInDirectory {
    ObjectId parent = kNoObject;
    std::string name;
  };

  const Outcome& perform(const std::string& path, const Op& op, std::string_view payload = {});
  Found find(const std::string& path);
  Found walk(const std::string& path, std::span<const std::string> parts);
  NameInDirectory spot(const std::string& path);
  void upload(const std::string& path, const NameInDirectory& at, ObjectId object, int fd);
  void print_entry(const Attr& attr, std::string_view name, std::string_view link);
  std::string link_target(const std::string& path, const Found& found);

  Target& target_;
  BlockingSession session_;
  ObjectId next_ = kFirstCleanupObject;  // next id of an object or handle
};

}  // namespace fsr
