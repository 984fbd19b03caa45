// SPDX-License-Identifier: Apache-2.0
// fio iolog, version 3: reads, writes and syncs of files by name, relative to where fio runs. A file keeps the name under which
// it was first used, since fio can't rename. Files that have one name in turn are one file of fio, which opens none twice.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "format.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kLongestName = 255;  // fio reads no more

class Iolog final : public ExportFormat {
 public:
  void begin(fmt::memory_buffer& out) override { put(out, "fio version 3 iolog\n"); }

  Exported add(fmt::memory_buffer& out, const Op& op, const Paths& paths) override {
    const char* action = nullptr;
    switch (op.kind) {
      case OpKind::read:
        action = "read";
        break;
      case OpKind::write:
        action = "write";
        break;
      case OpKind::fsync:
        action = op.flags & 1 ? "datasync" : "sync";
        break;
      case OpKind::lookup:
      case OpKind::open:
      case OpKind::flush:
      case OpKind::release:
        return Exported::unneeded;
      default:
        return Exported::no;
    }
    const bool moves = op.kind != OpKind::fsync;
    if (op.error || op.has(kOpUnfinished) || (moves && op.result == 0)) return Exported::no;
    last_ = std::max<int64_t>(op.start, 0) / 1000;
    const std::string* name = name_of(out, op.object, paths);
    if (!name) return Exported::no;
    put(out, "{} {} {} {} {}\n", last_, *name, action, moves ? op.offset : 0, moves ? op.result : 0);
    return !moves || op.result == op.length ? Exported::whole : Exported::partly;
  }

  void end(fmt::memory_buffer& out) override {
    for (const std::string& name : opened_) put(out, "{} {} close\n", last_, name);
  }

 private:
  template <class... Args>
  static void put(fmt::memory_buffer& out, fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
  }
  const std::string* name_of(fmt::memory_buffer& out, ObjectId object, const Paths& paths) {
    auto [it, news] = names_.try_emplace(object);
    if (news) {
      it->second = paths.path(object);
      if (it->second.find_first_of(" \t\r\n\v\f") != std::string::npos || it->second.size() > kLongestName) it->second.clear();
      if (!it->second.empty() && opened_.insert(it->second).second) put(out, "{0} {1} add\n{0} {1} open\n", last_, it->second);
    }
    return it->second.empty() ? nullptr : &it->second;
  }

  std::unordered_map<ObjectId, std::string> names_;  // empty: fio can't read it
  std::set<std::string> opened_;
  int64_t last_ = 0;  // us
};

}  // namespace

const Exporter kFioExporter = {"fio-iolog", "fio iolog, version 3",
                               [](const TraceHeader&) -> std::unique_ptr<ExportFormat> { return std::make_unique<Iolog>(); }};

}  // namespace fsr::fstrace
