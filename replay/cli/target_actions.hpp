// SPDX-License-Identifier: Apache-2.0
// `fsreplay target`: one target driven by hand, through the same interface as in a run. One thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "targets/blocking_session.hpp"

namespace fsr {

// Paths are relative to the target's root, "" is the root itself. What the target answers with an error is thrown as
// std::system_error "URL: PATH", what can't be done at all as std::runtime_error.
class TargetActions {
 public:
  TargetActions(Target& target, Clock& clock) : target_(target), session_(target, clock) {}

  void stat(const std::string& path);
  void list(const std::string& path);
  void print(const std::string& path);        // the content, to standard output
  void put(const std::string& path, int fd);  // all that can be read from fd; replaces a file when it is complete
  void make_directory(const std::string& path);
  void remove(const std::string& path);  // a file or an empty directory
  void move(const std::string& from, const std::string& to);

 private:
  struct Found {
    ObjectId object = kNoObject;
    Attr attr;
  };
  // A name and the directory that it is in.
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
  ObjectId next_ = kFirstCleanupObject;  // objects and handles
};

}  // namespace fsr
