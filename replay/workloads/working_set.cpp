// SPDX-License-Identifier: Apache-2.0
#include "workloads/working_set.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "base/target.hpp"
#include "plan/image_tree.hpp"
#include "trace/live_state.hpp"
#include "workloads/transfer_places.hpp"

namespace fsr {

namespace {

constexpr size_t kMostFiles = 4'000'000;  // files of one stream
constexpr unsigned kSpares = 20;  // of each kind that calls make and remove; more than a round of calls may remove at once

class Filling {
 public:
  Filling(const WorkingSetOptions& options, const MixPlan& plan, const SizeModel& sizes, ObjectId& objects, HandleId& handles)
      : options_(options), plan_(plan), sizes_(sizes), objects_(objects), handles_(handles) {}

  // `part`: share of this directory in the bytes of the working set.
  StreamFiles fill(unsigned number, std::string name, uint64_t part) {
    StreamFiles s;
    s.number = number;
    s.name = std::move(name);
    s.directory = objects_++;
    s.marker = objects_++;
    s.listing = handles_++;
    s.directories = objects_++;
    s.symlinks = objects_++;
    s.links = objects_++;
    s.renamed = objects_++;
    s.linked = objects_++;
    Random random(options_.seed, number);
    uint64_t bytes = set_of_files(s, s.directory, random, true);
    const bool opens = plan_.share(Action::open) + plan_.share(Action::close) > 0;
    if (plan_.past_cache && opens) {
      // A client sends no OPEN for a file that it holds open already.
      s.first_to_open = kOpenFiles;
      s.folders.push_back(objects_++);
      bytes += set_of_files(s, s.folders.back(), random, false);
    }
    while (bytes < part) {
      if (s.files.size() >= kMostFiles)
        throw std::runtime_error(fmt::format(
            "the working set: expected at most {} files in a directory; make the files larger (--sizes), or use more streams",
            kMostFiles));
      s.folders.push_back(objects_++);
      bytes += set_of_files(s, s.folders.back(), random, false);
    }
    spares(s);
    s.by_size.resize(s.files.size());
    std::iota(s.by_size.begin(), s.by_size.end(), 0u);
    std::stable_sort(s.by_size.begin(), s.by_size.end(),
                     [&](uint32_t a, uint32_t b) { return s.files[a].size < s.files[b].size; });
    return s;
  }

 private:
  uint64_t set_of_files(StreamFiles& s, ObjectId parent, Random& random, bool open) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < kOpenFiles; ++i) {
      WorkingFile& f = s.files.emplace_back();
      f.object = objects_++;
      f.parent = parent;
      if (open) f.handle = handles_++;
      f.name = fmt::format("{:03}{}", i, kFileSuffix);
      f.size = sizes_.file(random);
      // Calls never change a size, so one file has the size that the longest transfer needs.
      if (open && i == 0)
        f.size = std::max({f.size, sizes_.longest(), longest_run(plan_.traits.reads), longest_run(plan_.traits.writes)});
      bytes += f.size;
    }
    return bytes;
  }

  void spares(StreamFiles& s) {
    auto some = [&](std::initializer_list<Action> actions, unsigned otherwise) {
      return std::any_of(actions.begin(), actions.end(), [&](Action a) { return plan_.share(a) > 0; }) ? kSpares : otherwise;
    };
    const bool four = plan_.nfs_version == 4;
    const unsigned files = four ? some({Action::remove_any, Action::open}, 0) : some({Action::remove, Action::create}, 0);
    if (options_.directories) {
      // Each stream removes only what it has made.
      for (unsigned i = 1; i <= some({Action::readlink}, 0); ++i)
        s.spare_symlinks.push_back({objects_++, s.symlinks, fmt::format("{:03}", i)});
      return;
    }
    const unsigned symlinks = std::max(some({Action::symlink}, 0), some({Action::readlink}, 0) ? options_.links : 0);
    for (unsigned i = 0; i < files; ++i)
      s.spare_files.push_back({objects_++, s.directory, fmt::format("{:03}{}", kOpenFiles + i, kFileSuffix)});
    for (unsigned i = 1; i <= symlinks; ++i) s.spare_symlinks.push_back({objects_++, s.symlinks, fmt::format("{:03}", i)});
    for (unsigned i = 1; i <= some({Action::mkdir, Action::make}, 0); ++i)
      s.spare_directories.push_back({objects_++, s.directories, fmt::format("{:03}", i)});
    for (unsigned i = 1; i <= some({Action::link}, 0); ++i) s.spare_links.push_back({s.linked, s.links, fmt::format("{:03}", i)});
    for (unsigned i = 0; i < some({Action::open, Action::close}, 0); ++i) s.opened.push_back(handles_++);
  }

  const WorkingSetOptions& options_;
  const MixPlan& plan_;
  const SizeModel& sizes_;
  ObjectId& objects_;
  HandleId& handles_;
};

}  // namespace

unsigned openers_for(unsigned clients, unsigned directories, unsigned neighbours) {
  constexpr uint64_t kMostInStep = 10'000;  // openers of all directories, each of which opens some 40 files
  constexpr unsigned kRounds = 4;           // of all clients. So none has more than 5 openers where another has 4.
  // If each client has equally many openers, a stream uses files that its own client has opened.
  const uint64_t in_step = std::lcm<uint64_t>(clients, directories);
  const uint64_t all = in_step <= std::max<uint64_t>(kMostInStep, clients) ? in_step : uint64_t(kRounds) * clients;
  return unsigned(std::clamp<uint64_t>((all + directories - 1) / directories, 1, neighbours));
}

WorkingSet::WorkingSet(const WorkingSetOptions& options, const MixPlan& plan, const SizeModel& sizes)
    : numbers_(options.numbers),
      all_directories_(options.directories),
      neighbours_(options.neighbours),
      next_object_(options.first_id),
      next_handle_(options.first_id) {
  Filling filling(options, plan, sizes, next_object_, next_handle_);
  std::unordered_map<unsigned, uint32_t> known;  // shared directories
  for (unsigned number : numbers_)
    if (all_directories_) homes_.push_back(known.try_emplace(number % all_directories_, uint32_t(known.size())).first->second);
  const uint64_t part = options.bytes / (all_directories_ ? known.size() : numbers_.size());
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const unsigned number = all_directories_ ? numbers_[i] % all_directories_ : numbers_[i];
    if (!all_directories_ || homes_[i] == directories_.size())
      directories_.push_back(
          filling.fill(number, options.names.empty() ? fmt::format("testdir{}", number) : options.names[i], part));
    StreamFiles& home = directories_[all_directories_ ? homes_[i] : i];
    if (home.openers.size() < options.openers) home.openers.push_back(ThreadId(i + 1));
  }
  handles_of_opener_ = next_handle_ - options.first_id;
  next_handle_ += handles_of_opener_ * (options.openers - 1);
}

StreamPlace WorkingSet::stream(size_t i) const {
  StreamPlace place;
  place.files = &directories_[all_directories_ ? homes_[i] : i];
  place.number = numbers_[i];
  place.thread = ThreadId(i + 1);
  if (!all_directories_) return place;
  place.shared = true;
  place.index = place.number / all_directories_;
  place.neighbours = neighbours_;
  place.handles = place.index % place.files->openers.size() * handles_of_opener_;
  return place;
}

Image WorkingSet::image() const {
  return Image::of([&](ImageTree& tree) {
    auto add = [&](ObjectId parent, std::string name, ObjectId object, uint32_t type, uint32_t mode, uint64_t size) {
      ImageObject& o = tree.objects.emplace_back();
      o.id = object;
      o.type = type;
      o.attr.valid = kAttrMode | (type == S_IFREG ? uint32_t(kAttrSize) : 0);
      o.attr.mode = type | mode;
      o.attr.size = size;
      if (type == S_IFLNK) o.target = kLinkText;
      o.names = 1;
      tree.names.push_back({.parent = parent, .name = std::move(name), .object = uint32_t(tree.objects.size() - 1)});
      return tree.objects.size() - 1;
    };
    auto folder = [&](ObjectId parent, std::string name, ObjectId object) {
      add(parent, std::move(name), object, S_IFDIR, kDirectoryMode, 0);
    };
    for (const StreamFiles& s : directories_) {
      folder(kRootObject, s.name, s.directory);
      // The marker comes first, so that a set-up that is interrupted can be repaired.
      add(s.directory, kMarkerName, s.marker, S_IFREG, kFileMode, 0);
      folder(s.directory, "dir", s.directories);
      folder(s.directory, "sym", s.symlinks);
      folder(s.directory, "lin", s.links);
      for (size_t i = 0; i < s.folders.size(); ++i) folder(s.directory, fmt::format("set{:03}", i + 1), s.folders[i]);
      add(s.directory, "rename1", s.renamed, S_IFREG, kFileMode, 0);
      const size_t linked = add(s.links, "000", s.linked, S_IFREG, kFileMode, 0);
      for (const WorkingFile& f : s.files) add(f.parent, f.name, f.object, S_IFREG, kFileMode, f.size);
      for (const Spare& spare : s.spare_files) add(spare.parent, spare.name, spare.object, S_IFREG, kFileMode, 0);
      for (const Spare& spare : s.spare_symlinks) add(spare.parent, spare.name, spare.object, S_IFLNK, 0777, 0);
      for (const Spare& spare : s.spare_directories) folder(spare.parent, spare.name, spare.object);
      for (const Spare& spare : s.spare_links) {
        tree.names.push_back({.parent = spare.parent, .name = spare.name, .object = uint32_t(linked), .link = true});
        ++tree.objects[linked].names;
      }
    }
    // Clients get streams in the order of their first operations, so the first opener of each directory comes first.
    for (size_t nth = 0, last = 1; nth < last; ++nth)
      for (const StreamFiles& s : directories_) {
        last = std::max(last, s.openers.size());
        if (nth >= s.openers.size()) continue;
        auto open = [&](ObjectId object, HandleId handle, bool directory) {
          tree.opens.push_back({.handle = handle + nth * handles_of_opener_,
                                .object = object,
                                .open_flags = uint32_t(directory ? O_RDONLY | O_DIRECTORY : O_RDWR),
                                .thread = s.openers[nth],
                                .directory = directory});
        };
        open(s.directory, s.listing, true);
        for (const WorkingFile& f : s.files)
          if (f.handle) open(f.object, f.handle, false);
        for (size_t i = 0; i < s.opened.size(); ++i) open(s.files[s.first_to_open + i].object, s.opened[i], false);
      }
    tree.next_object = next_object_;
    tree.next_handle = next_handle_;
  });
}

std::string WorkingSet::path_of(ObjectId object) const {
  for (const StreamFiles& s : directories_) {
    const std::pair<ObjectId, std::string> folders[] = {
        {s.directory, ""}, {s.directories, "/dir"}, {s.symlinks, "/sym"}, {s.links, "/lin"}};
    for (const auto& [id, name] : folders)
      if (id == object) return s.name + name;
    if (s.marker == object) return s.name + "/" + kMarkerName;
    if (s.renamed == object) return s.name + "/rename1";
    if (s.linked == object) return s.name + "/lin/000";
    auto folder_name = [&](ObjectId parent) {
      for (const auto& [id, name] : folders)
        if (id == parent) return s.name + name + "/";
      const auto at = std::find(s.folders.begin(), s.folders.end(), parent) - s.folders.begin();
      return s.name + fmt::format("/set{:03}/", at + 1);
    };
    for (const WorkingFile& f : s.files)
      if (f.object == object) return folder_name(f.parent) + f.name;
    for (const auto* spares : {&s.spare_files, &s.spare_symlinks, &s.spare_directories})
      for (const Spare& spare : *spares)
        if (spare.object == object) return folder_name(spare.parent) + spare.name;
  }
  return "";
}

namespace {

class Closing final : public OpSource {
 public:
  // `between`: distance between the handles of two openers.
  Closing(const std::vector<StreamFiles>& directories, HandleId between) : directories_(directories), between_(between) {}
  bool next(OpBatch& batch) override {
    batch.clear();
    if (at_ == directories_.size()) return false;
    const StreamFiles& s = directories_[at_];
    auto release = [&](OpKind kind, ObjectId object, HandleId handle) {
      Op& op = batch.ops.emplace_back();
      op.kind = kind;
      op.seq = seq_++;
      op.thread = s.openers[opener_];
      op.object = object;
      op.handle = handle + opener_ * between_;
    };
    release(OpKind::releasedir, s.directory, s.listing);
    for (const WorkingFile& f : s.files)
      if (f.handle) release(OpKind::release, f.object, f.handle);
    if (++opener_ == s.openers.size()) {
      opener_ = 0;
      ++at_;
    }
    return true;
  }

 private:
  const std::vector<StreamFiles>& directories_;
  const HandleId between_;
  size_t at_ = 0, opener_ = 0;
  uint64_t seq_ = 0;
};

}  // namespace

std::unique_ptr<OpSource> WorkingSet::closing() const { return std::make_unique<Closing>(directories_, handles_of_opener_); }

bool is_working_name(std::string_view name) {
  if (name == "rename1" || name == "rename2") return true;
  const size_t digits = name.find_first_not_of("0123456789");
  if (digits == std::string_view::npos) return name.size() >= 3;
  return digits >= 3 && name.substr(digits) == kFileSuffix;
}

}  // namespace fsr
