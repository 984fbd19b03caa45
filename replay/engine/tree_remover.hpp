// SPDX-License-Identifier: Apache-2.0
// Lists and removes what is in a target, but nothing that is mounted there. One thread.
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

// Throws std::runtime_error, before anything is changed, when something is mounted below a removable name of the target's root.
void refuse_mounts(Target& target, const Removable& removable);

class TreeRemover {
 public:
  // What may be removed, at every depth. Objects and handles are numbered from the ones given. `stop`: as raised by signals; 2
  // cuts it off, with a std::runtime_error.
  TreeRemover(Target& target, BlockingSession& session, ObjectId object, HandleId handle, Removable removable,
              const std::atomic<int>* stop = nullptr);

  // The names in a directory; what can't be listed is empty.
  std::vector<std::string> list(ObjectId directory);
  // Removes `name`, which stands at `path` for messages, with everything below. Throws std::runtime_error where something is
  // mounted, with nothing behind it removed.
  void remove(ObjectId parent, const std::string& name, const std::string& path);
  [[noreturn]] void refuse(const std::string& path) const;

  uint64_t failed = 0;  // names that could not be removed

 private:
  struct Folder {
    ObjectId object, parent;
    std::string name, path;
  };
  void remove_one(ObjectId parent, const std::string& name, const std::string& path, std::vector<Folder>& folders);
  void take(const Op& op);

  Target& target_;
  BlockingSession& session_;
  ObjectId next_;
  HandleId handle_;
  Removable removable_;
  const std::atomic<int>* stop_;
};

}  // namespace fsr
