// SPDX-License-Identifier: Apache-2.0
// Random traces of a small file system with several threads. Every operation takes effect at some instant between its start and
// its end, and is stored as a recorder would store it.
#pragma once

#include <sys/file.h>
#include <sys/xattr.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <random>

#include "op_list.hpp"
#include "plan/linearizer.hpp"
#include "small_files.hpp"

namespace fsr {

inline constexpr std::string_view kModelNames[] = {"a", "b", "c"};
inline constexpr unsigned kMostModelOps = 60;

// Properties of a random trace.
struct ModelShape {
  const char* name;
  unsigned threads;
  bool overlap;   // true: threads act at the same time; false: each call ends before the next one begins
  bool nameless;  // true: failed operations do not have the object that they found, as in imported traces
  std::vector<OpKind> kinds;
  std::vector<std::string_view> attributes = {"user.x"};
  double orderless = 0.5;  // largest allowed share of traces without a true order
  bool root = false;       // true: permissions don't matter
};

struct ModelTrace {
  std::vector<Op> ops;  // in order of start
  std::vector<SmallFiles::Result> results;
  std::deque<Attr> attrs;
};

class ModelTraces {
 public:
  ModelTraces(const ModelShape& shape, unsigned seed) : shape_(shape), random_(seed), files_(shape.root) {}

  ModelTrace run(unsigned count) {
    struct Event {
      int64_t at;
      enum Kind { start, effect, end } kind;
      size_t thread;
      bool operator>(const Event& other) const { return at > other.at; }
    };
    struct Thread {
      Op op;
      SmallFiles::Result result;
      std::vector<Op> next;  // of an open directory: readdir, releasedir
      bool happened = false;
    };
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    std::vector<Thread> threads(shape_.threads);
    int64_t serial = 0;
    for (size_t t = 0; t < threads.size(); ++t) events.push({us(below(50)), Event::start, t});
    int64_t last = -1;
    while (!events.empty()) {
      Event e = events.top();
      events.pop();
      Thread& thread = threads[e.thread];
      if (e.at <= last) {  // effects must not share an instant; calls take far longer than this delay
        e.at = last + 1;
        events.push(e);
        continue;
      }
      if (e.kind == Event::start && !shape_.overlap && e.at < serial) {
        e.at = serial + us(below(3));
        events.push(e);
        continue;
      }
      last = e.at;
      if (e.kind == Event::start) {
        if (trace_.ops.size() >= count && thread.next.empty()) continue;
        if (thread.next.empty())
          thread.op = choose(thread.next, e.thread);
        else {
          thread.op = thread.next.front();
          thread.next.erase(thread.next.begin());
        }
        thread.op.thread = ThreadId(e.thread + 1);
        thread.op.start = e.at;
        thread.op.duration = us(2 + below(below(4) ? 12 : 60));
        thread.op.seq = trace_.ops.size();
        trace_.ops.push_back(thread.op);
        trace_.results.emplace_back();
        thread.happened = false;
        serial = thread.op.end() + 1;
        events.push({e.at + us(1) / 2 + int64_t(below(uint64_t(thread.op.duration - us(1)))), Event::effect, e.thread});
        events.push({thread.op.end(), Event::end, e.thread});
        continue;
      }
      Op& op = trace_.ops[thread.op.seq];
      if (e.kind == Event::effect) {
        thread.result = files_.perform(op, next_object_++);
        // A wait ends in EINTR after some time, as if by a signal.
        if (thread.result.error == EAGAIN && op.has(kOpWait) && e.at < op.start + us(kTimeout)) {
          events.push({e.at + us(1 + below(4)), Event::effect, e.thread});
          continue;
        }
        thread.happened = true;
        tell(op, thread.result);
        continue;
      }
      if (!thread.happened) {
        events.push({e.at + us(1 + below(8)), Event::end, e.thread});
        serial = std::max(serial, e.at + us(9));
        continue;
      }
      op.duration = e.at - op.start;
      learn(op, e.thread);
      if (op.error && (op.kind == OpKind::opendir)) thread.next.clear();
      events.push({e.at + us(below(6)), Event::start, e.thread});
    }
    return std::move(trace_);
  }

 private:
  static int64_t us(uint64_t n) { return int64_t(n) * 1000; }
  uint64_t below(uint64_t n) { return random_() % n; }
  std::string_view any_name() { return kModelNames[below(std::size(kModelNames))]; }
  template <class List>
  auto any(const List& list) {
    return list[below(std::size(list))];
  }

  // Makes `op` use an open instance of the thread, and the thread the owner. False: there is none, and the thread opens one
  // instead.
  bool with_open(Op& op, size_t thread) {
    std::vector<Open>& opens = opens_[thread];
    if (opens.empty()) {
      op.kind = OpKind::open;
      op.object = any(objects_);
      op.handle = next_handle_++;
      return false;
    }
    const Open& open = opens[below(opens.size())];
    op.object = open.object;
    op.handle = open.handle;
    op.owner = description_owners(open.handle) ? 1000 + open.handle : 1 + thread;
    return true;
  }
  // True: the locks of `handle` belong to an open file description, so that no flush releases them.
  bool description_owners(HandleId handle) const {
    return handle % 2 && std::ranges::find(shape_.kinds, OpKind::release) != shape_.kinds.end();
  }
  void lock(Op& op) {
    static constexpr uint32_t kLocks[] = {F_RDLCK, F_WRLCK, F_UNLCK}, kFlocks[] = {LOCK_SH, LOCK_EX, LOCK_UN};
    op.mode = op.kind == OpKind::flock ? any(kFlocks) : any(kLocks);
    if (op.kind == OpKind::setlk) {
      op.offset = below(4);
      op.length = below(3);
    }
    if (!below(3)) op.op_flags = kOpWait;
  }

  Op choose(std::vector<Op>& next, size_t thread) {
    Op op{.kind = any(shape_.kinds)};
    static constexpr uint32_t kModes[] = {0777, 0777, 0555, 0444, 0666, 0311};
    switch (op.kind) {
      case OpKind::lookup:
      case OpKind::create:
      case OpKind::mkdir:
      case OpKind::unlink:
      case OpKind::rmdir:
        op.parent = any(directories_);
        op.name = any_name();
        op.mode = any(kModes);
        if (op.kind == OpKind::create) op.open_flags = O_CREAT | O_WRONLY | (below(2) ? O_EXCL : 0);
        break;
      case OpKind::rename: {
        static constexpr uint32_t kFlags[] = {0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE};
        op.parent = any(directories_);
        op.parent2 = any(directories_);
        op.name = any_name();
        op.name2 = any_name();
        op.flags = any(kFlags);
        break;
      }
      case OpKind::tmpfile:
        op.parent = any(directories_);
        op.mode = any(kModes);
        op.open_flags = O_RDWR;
        op.handle = next_handle_++;
        break;
      case OpKind::statfs:
        op.object = any(directories_);
        break;
      case OpKind::release:  // without a flush before, as the kernel itself does
        if (!with_open(op, thread)) break;
        op.op_flags = kOpKernel;
        op.owner = 0;
        std::erase_if(opens_[thread], [&](const Open& open) { return open.handle == op.handle; });
        break;
      case OpKind::opendir:
        op.object = any(directories_);
        op.handle = next_handle_++;
        next = {{.kind = OpKind::readdir, .object = op.object, .handle = op.handle},
                {.kind = OpKind::readdir, .object = op.object, .handle = op.handle, .offset = SmallFiles::kListed},
                {.kind = OpKind::releasedir, .object = op.object, .handle = op.handle}};
        break;
      case OpKind::setattr:
        op.object = any(objects_);
        op.set = &trace_.attrs.emplace_back(Attr{.valid = kAttrMode, .mode = any(kModes)});
        break;
      case OpKind::link:
        op.object = any(objects_);
        op.parent2 = any(directories_);
        op.name2 = any_name();
        break;
      case OpKind::setxattr:
      case OpKind::getxattr:
      case OpKind::removexattr:
        op.object = any(objects_);
        op.name = any(shape_.attributes);
        op.mode = any(kModes);
        op.flags = op.kind == OpKind::setxattr && below(2) ? XATTR_CREATE : 0;
        break;
      case OpKind::setlk:
      case OpKind::flock:
        if (with_open(op, thread)) lock(op);
        break;
      case OpKind::flush:
        if (!with_open(op, thread)) break;
        next = {{.kind = OpKind::release, .object = op.object, .handle = op.handle}};
        std::erase_if(opens_[thread], [&](const Open& open) { return open.handle == op.handle; });
        break;
      default:
        op.object = any(objects_);
        op.mode = op.kind == OpKind::access ? uint32_t(1 + below(7)) : 0;
        op.open_flags = op.kind == OpKind::open ? (below(2) ? O_RDONLY : O_WRONLY) : 0;
    }
    return op;
  }

  // Stores the outcome as a recorder would.
  void tell(Op& op, const SmallFiles::Result& result) {
    trace_.results[op.seq] = result;
    op.error = result.error == EAGAIN && op.has(kOpWait) ? EINTR : result.error;
    op.result = result.result;
    auto id = [](const SmallFiles::NodeRef& node) { return node ? node->id : kNoObject; };
    const bool names = op.parent != kNoObject,
               makes = op.kind == OpKind::create || op.kind == OpKind::mkdir || op.kind == OpKind::lookup;
    if (names && !(op.error && (makes || shape_.nameless))) {
      op.object = id(result.object);
      op.object2 = id(result.object2);
    }
    if (op.kind == OpKind::release && result.object && result.object->lost) std::erase(objects_, result.object->id);
    if (result.created && op.kind == OpKind::create) op.op_flags = kOpCreated;
    for (const std::string& name : result.names) entry_names_.push_back(name);
    if (!result.names.empty()) {
      op.result = result.names.size();
      std::vector<DirEntry>& list = entries_.emplace_back();
      for (size_t i = entry_names_.size() - result.names.size(); i < entry_names_.size(); ++i)
        list.push_back({.name = entry_names_[i]});
      op.entries = list;
    }
  }
  // Makes what an operation taught usable, from its end on.
  void learn(const Op& op, size_t thread) {
    if (op.error || !op.object) return;
    if ((op.kind == OpKind::open || op.kind == OpKind::tmpfile) && op.handle) opens_[thread].push_back({op.handle, op.object});
    if (op.kind != OpKind::lookup && op.kind != OpKind::create && op.kind != OpKind::mkdir && op.kind != OpKind::tmpfile) return;
    const SmallFiles::NodeRef& node = trace_.results[op.seq].object;
    auto add = [&](std::vector<ObjectId>& to) {
      if (std::find(to.begin(), to.end(), op.object) == to.end()) to.push_back(op.object);
    };
    add(objects_);
    if (node->directory) add(directories_);
  }

  static constexpr uint64_t kTimeout = 200;  // us
  struct Open {
    HandleId handle;
    ObjectId object;
  };

  const ModelShape& shape_;
  std::mt19937 random_;
  SmallFiles files_;
  ModelTrace trace_;
  std::vector<ObjectId> objects_{kRootObject}, directories_{kRootObject};
  ObjectId next_object_ = 100;
  HandleId next_handle_ = 1;
  std::map<size_t, std::vector<Open>> opens_;

 public:
  std::deque<std::string> entry_names_;
  std::deque<std::vector<DirEntry>> entries_;
};

inline bool same_outcome(const ModelTrace& trace, const Op& op, const SmallFiles::Result& again) {
  return trace.results[op.seq] == again;
}
inline SmallFiles::Result perform_again(SmallFiles& files, const Op& op) {
  // An operation that failed in the trace has no id. If it makes a file all the same, that file gets an id of its own.
  return files.perform(op, op.object ? op.object : (1u << 20) + op.seq);
}

// True: the operations have their outcomes if they are done one by one, in order of effect.
inline bool orderly(const ModelTrace& trace, bool root) {
  OpList source(trace.ops);
  Linearizer order(source, 0, INT64_MAX);
  SmallFiles files(root);
  while (const Op* op = order.next())
    if (!same_outcome(trace, *op, perform_again(files, *op))) return false;
  return true;
}

}  // namespace fsr
