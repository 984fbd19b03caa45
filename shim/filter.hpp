// SPDX-License-Identifier: Apache-2.0
// Chooses the operations that go into the trace (--only and --exclude).
//
// A rule is KEY=VALUES: uid=1000,nobody; process=4711,make,git*; op=read,write; path=GLOB. Values of one key are alternatives,
// keys of --only must all be met, and none of --exclude may be. Names and paths are matched by fnmatch(3), paths relative to the
// captured directory ("." itself) with * reaching across slashes. Rules are added first, by one thread; then the writer thread
// alone asks: the request path does not know of filters.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "op.hpp"

namespace fsr::shim {

// Paths of objects as of their last operations. Removed objects are forgotten after a while, when their last users have closed
// them.
class PathMap {
 public:
  void learn(const Op& op);  // in order of effect
  // "dir/file", "." for the captured directory; empty: not known.
  std::string path(ObjectId object) const;
  std::string path(ObjectId parent, std::string_view name) const;

 private:
  struct Name {
    ObjectId parent = kNoObject;
    std::string name;
    bool removed = false;
  };
  // A directory's path, as long as no object got another name.
  struct Known {
    ObjectId directory = kNoObject;
    uint64_t renames = 0;
    std::string path;
  };
  const std::string& directory_path(ObjectId directory) const;
  void put(ObjectId parent, std::string_view name, ObjectId object);
  void remove(ObjectId parent, std::string_view name, ObjectId object);
  std::unordered_map<ObjectId, Name> names_;
  std::deque<ObjectId> removed_;
  uint64_t renames_ = 0;  // changes that may have given a directory another path
  mutable std::array<Known, 64> known_;
  mutable bool some_unknown_ = false;  // known_ has an empty path
};

class OpFilter {
 public:
  // Throw std::invalid_argument with one line.
  void only(std::string_view rule) { add(rule, false); }
  void exclude(std::string_view rule) { add(rule, true); }

  // The rules that the kind and the caller alone decide. If a rule is by path, there are none, because paths follow from all
  // operations.
  struct Early {
    struct Ids {
      bool given = false;
      std::vector<uint32_t> numbers;
    };
    Ids only_uids, except_uids, only_pids, except_pids;
    std::array<bool, kOpKinds> unwanted{};
  };
  Early early() const;

  bool empty() const { return rules_.empty(); }
  const std::string& text() const { return text_; }  // the rules as given
  // True: the operation is to be recorded. It may be in flight.
  bool wants(const Op& op) const;
  // Call this for every operation, recorded or not, when its outcome is known.
  void learn(const Op& op) {
    if (by_path_) paths_.learn(op);
  }

 private:
  enum class Key { uid, process, op, path };
  struct Rule {
    Key key;
    bool exclude;
    std::vector<std::string> patterns;  // process names, paths
    std::vector<uint64_t> numbers;      // uids, pids, kinds
  };
  void add(std::string_view rule, bool exclude);
  bool matches(const Rule& rule, const Op& op) const;
  bool path_matches(const Rule& rule, const Op& op) const;

  std::vector<Rule> rules_;
  std::string text_;
  bool by_path_ = false;
  PathMap paths_;
};

}  // namespace fsr::shim
