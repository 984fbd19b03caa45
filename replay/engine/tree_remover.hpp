// SPDX-License-Identifier: Apache-2.0
// Lists and removes files in a target, except for what is mounted there. Use from one thread.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/target.hpp"
#include "targets/blocking_session.hpp"

namespace fsr {

using Removable = std::function<bool(std::string_view component)>;

// Throws std::runtime_error if something is mounted below a removable name of the target's root. Changes nothing.
void refuse_mounts(Target& target, const Removable& removable);

class TreeRemover {
 public:
  // `object`, `handle`: the first ids that this object may use. `removable`: what may be removed, at every depth. `stop`: raised
  // by signals; at 2, remove() throws std::runtime_error.
  TreeRemover(Target& target, BlockingSession& session, ObjectId object, HandleId handle, Removable removable,
              const std::atomic<int>* stop = nullptr);

  // Returns the names in a directory. Empty: it has none or can't be listed.
  std::vector<std::string> list(ObjectId directory);
  // Removes `name` with everything below it. `path`: its path for messages. Throws std::runtime_error if something is mounted
  // there; nothing on the mounted file system is removed.
  void remove(ObjectId parent, const std::string& name, const std::string& path);
  // Removes `name`, which a lookup has found to be `object` and no directory.
  void remove_file(ObjectId object, ObjectId parent, const std::string& name, const std::string& path);
  [[noreturn]] void refuse(const std::string& path) const;

  uint64_t failed = 0;       // names that could not be removed
  std::string first_failed;  // path of the first of them
  int first_error = 0;       // and why

 private:
  struct Folder {
    ObjectId object, parent;
    std::string name, path;
  };
  void remove_one(ObjectId parent, const std::string& name, const std::string& path, std::vector<Folder>& folders);
  void take(const Op& op, const std::string& path);

  Target& target_;
  BlockingSession& session_;
  ObjectId next_;
  HandleId handle_;
  Removable removable_;
  const std::atomic<int>* stop_;
};

}  // namespace fsr
