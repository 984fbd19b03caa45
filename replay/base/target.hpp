// SPDX-License-Identifier: Apache-2.0
// What a replay is performed on. A target turns one operation into its protocol's own requests, asynchronously. It knows nothing
// of traces, streams, schedules or statistics.
//
// Object identity: operations name files by ObjectId and open files by HandleId, as recorded. A target keeps the map from these
// to its own handles (file handles, descriptors, fids): filled by the operations that teach it (lookup, create, mkdir, mknod,
// symlink, tmpfile; open, opendir), shared by all its sessions and safe for their threads. kRootObject is the root of the target.
// The engine guarantees that the operation that teaches an id completed before one that uses
// it is submitted, wherever the recorded outcome allows it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "op.hpp"

namespace fsr {

class Clock;

// The file in a target's root that tells our trees from others.
constexpr const char* kMarkerName = ".fsreplay";
// Ids above those of any trace, for what the replayer does to a target on its own; also its handles.
constexpr ObjectId kMarkerObject = ObjectId(1) << 62;
constexpr ObjectId kProbeObject = kMarkerObject + 1;
constexpr ObjectId kFirstCleanupObject = kMarkerObject + 2;

enum class Fidelity : uint8_t {
  exact,
  approximate,  // something like it is done; counted as an approximation
  impossible,   // not submitted; counted by kind
};

// "Are you a terminal?", which runtime libraries ask of every file they open. Needs no argument and no privilege.
inline bool asks_for_terminal(const Op& op) {
  constexpr uint32_t kTcgets = 0x5401, kTiocgwinsz = 0x5413;
  return op.kind == OpKind::ioctl && (op.flags == kTcgets || op.flags == kTiocgwinsz);
}

struct Credentials {
  uint32_t uid = 0, gid = 0;
};

struct Outcome {
  int32_t error = 0;       // errno, positive; 0 = success
  uint64_t result = 0;     // as Op::result
  Attr attr;               // what the reply taught about the object, attr.valid says what
  std::string_view data;   // read content, readlink target, xattr value: valid during the completion callback only
  uint32_t auxiliary = 0;  // requests that the target added on its own
  int64_t completed = 0;   // Clock::now() when the reply was there
  // readdir(plus): valid during the completion callback only
  std::span<const DirEntry> entries;
};

// One operation under way. Owned by the engine; must stay unchanged and in place until its completion.
struct Request {
  const Op* op = nullptr;
  Credentials who;           // whom to act as; ignored by targets opened without impersonation
  std::string_view payload;  // write: the bytes to write, op->length of them
  bool generated = false;    // the payload is Payload's, of op->object at op->offset, and can be had again
  bool want_data = false;    // read: the caller compares the content (otherwise it may be discarded unseen)
  char* room = nullptr;      // op->length bytes where a target may put data that is wanted; outcome.data says where it is
  bool want_attr = true;     // of what is made or linked, where a target would have to ask for it separately
  bool untimed = false;      // Outcome::completed may stay 0 if submit() completes it: nobody asks when that was
  bool alone = false;        // the session gets no other request before this one has ended: it may be waited for within submit()
  Outcome outcome;
  void* owner = nullptr;  // the engine's own
};

enum class Submit : uint8_t {
  completed,  // done within the call, outcome is set, no callback will come
  queued,     // the completion callback will come from poll()
  busy,       // the session's limit is reached: submit again after a poll() that completed something
};

class Completion {
 public:
  virtual void completed(Request& request) = 0;

 protected:
  ~Completion() = default;
};

// A connection or a ring. Belongs to one thread.
class Session {
 public:
  virtual ~Session() = default;
  virtual Submit submit(Request& request) = 0;
  // Completes what is ready; waits for the first completion, for `wake` (eventfd, readable = return) or for `deadline` on the
  // target's clock (ns; <= now = don't wait), whichever comes first. Never throws for a broken connection: what was in flight
  // completes with an error.
  virtual void poll(int64_t deadline, int wake, Completion& sink) = 0;
  // Speed is all that counts: where many requests are under way, some may complete a fraction of a millisecond later than they
  // could, together with others.
  virtual void prefer_throughput() {}
};

struct TargetOptions {
  Clock* clock = nullptr;    // required
  bool privileged = false;   // allow device nodes, set-id bits, trusted/security xattrs, ioctls
  bool impersonate = false;  // act as Request::who
  bool force = false;        // overwrite a device that holds something
};

struct Space {
  uint64_t total = 0, free = 0;  // bytes; 0 and 0 = not known
};

// How one kind of target, in one dialect of its protocol, maps operations to requests. docs/operations.md is printed from this,
// and the conformance suite holds targets to it.
struct OpMapping {
  const char* name;  // heading of its column: "NFSv3", "9P2000.u"
  // As Target::fidelity() answers for a server that has all that the dialect offers; where a server lacks some of it, impossible.
  Fidelity (*fidelity)(const Op& op, bool privileged);
  // By what requests, in the protocol's terms; null or "": nothing to be said.
  const char* (*requests)(OpKind kind) = nullptr;
};

// A file that a run uses, and how far into it.
struct FileUse {
  ObjectId object = kNoObject;
  uint64_t end = 0;  // bytes
};

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string name() const = 0;                         // as in the URL, for reports: "nfs://127.0.0.1:12049/vfs"
  virtual Fidelity fidelity(const Op& op) const = 0;            // may depend on arguments (a rename flag), never on state
  virtual const OpMapping* mapping() const { return nullptr; }  // the one of its plugin's that holds here; null: has none
  virtual std::unique_ptr<Session> open_session() = 0;          // throws std::runtime_error with one clear line
  virtual Space space() { return {}; }
  virtual bool empty() { return true; }  // nothing in the root
  // Where something is known to be mounted inside the target, as paths below its root. No operation gets behind such a place:
  // its lookup answers EXDEV, also where it becomes known only then.
  virtual std::vector<std::string> mount_points() { return {}; }
  // A target without names gives each file its place before the first session: those of the run, in the order of their first use.
  // Throws std::runtime_error when there is no room. Others don't care.
  virtual bool places_files() const { return false; }
  virtual void place_files(std::span<const FileUse>) {}
  // The object is not to be reached by this name any more: another process took it away. Any thread. Others than those that go by
  // names don't care.
  virtual void forget_name(ObjectId, ObjectId /*parent*/, std::string_view /*name*/) {}
  // What the target as a whole did beyond the operations: reconnects, retransmissions, silly renames, lost writes.
  virtual std::vector<std::pair<std::string, uint64_t>> counters() const { return {}; }
  // Requests on the wire so far, by NFS procedure ("getattr"), whoever asked for them: what the target's own client sent, or the
  // kernel's for the file system that a directory is on. Of version 4, a COMPOUND is one, of the operation it is about. Empty
  // where that can't be told; never waits for anything.
  virtual std::vector<std::pair<std::string, uint64_t>> requests() const { return {}; }
};

// One kind of target. `open` throws std::runtime_error for a bad URL, a refusal or no such server.
struct TargetPlugin {
  const char* scheme;  // "nfs": URLs "nfs://..." and "nfs:..."
  const char* help;    // one line for `fsreplay --help`; nullptr: told by another
  std::unique_ptr<Target> (*open)(const std::string& url, const TargetOptions& options);
  std::span<const OpMapping> mappings = {};  // one for each dialect; none: not in docs/operations.md
};

std::span<const TargetPlugin* const> target_plugins();
// A URL of a known scheme, or a directory (= file:DIR).
std::unique_ptr<Target> open_target(const std::string& url, const TargetOptions& options);

}  // namespace fsr
