// SPDX-License-Identifier: Apache-2.0
// The target of a replay. A target turns an operation into the requests of its protocol, asynchronously. It knows nothing of
// traces, streams, schedules or statistics.
//
// Object identity: operations name files by ObjectId and open files by HandleId, as recorded. A target maps these ids to its own
// handles (file handles, descriptors, fids). Some operations add ids to the map: lookup, create, mkdir, mknod, symlink, tmpfile;
// open, opendir. All sessions share the map, and it is safe for their threads. kRootObject is the root of the target. Before the
// engine submits an operation that uses an id, the operation that adds the id has completed, wherever the recorded outcome allows
// this.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/client_figures.hpp"
#include "op.hpp"

namespace fsr {

class Clock;
class EndedOverTime;

// Name of the file in a target's root that marks a tree made by fsreplay.
constexpr const char* kMarkerName = ".fsreplay";
// Ids above those of any trace, for objects and handles that the replayer itself uses on a target.
constexpr ObjectId kMarkerObject = ObjectId(1) << 62;
constexpr ObjectId kProbeObject = kMarkerObject + 1;
constexpr ObjectId kFirstCleanupObject = kMarkerObject + 2;

enum class Fidelity : uint8_t {
  exact,
  approximate,  // something similar is done; counted as an approximation
  impossible,   // not submitted; counted by kind
};

// True for an ioctl that asks whether the file is a terminal, as runtime libraries do for every file they open. It needs no
// argument and no privilege.
inline bool asks_for_terminal(const Op& op) {
  constexpr uint32_t kTcgets = 0x5401, kTcgets2 = 0x802c542a, kTiocgwinsz = 0x5413;
  return op.kind == OpKind::ioctl && (op.flags == kTcgets || op.flags == kTcgets2 || op.flags == kTiocgwinsz);
}

struct Credentials {
  uint32_t uid = 0, gid = 0;
  // Number of one of TargetOptions::principals, from 1. 0: the target's own user, who prepares a run. Used with principals only.
  uint32_t principal = 0;
};
constexpr uint32_t kNoPrincipal = UINT32_MAX;  // the map of users has no line for the user

struct Outcome {
  int32_t error = 0;       // errno, positive; 0: success
  uint64_t result = 0;     // as Op::result
  Attr attr;               // attributes of the object in the reply; attr.valid says which
  std::string_view data;   // read content, readlink target or xattr value; valid during the completion callback only
  uint32_t auxiliary = 0;  // number of requests that the target added
  bool withheld = false;   // no request was sent, because there are no credentials of the user; `error` is set as well
  int64_t completed = 0;   // Clock::now() at the reply
  // Entries of a readdir(plus); valid during the completion callback only.
  std::span<const DirEntry> entries;
};

// One operation in flight. The engine owns it. It must not change or move until its completion.
struct TargetRequest {
  const Op* op = nullptr;
  Credentials who;           // user to act as; ignored by targets opened without impersonation
  std::string_view payload;  // of a write: the bytes to write, op->length of them
  bool generated = false;    // the payload is that of Payload for op->object at op->offset, and can be generated again
  bool want_data = false;    // of a read: the caller compares the content; otherwise it may be discarded unseen
  char* room = nullptr;      // op->length bytes into which a target may put wanted data; outcome.data says where the data is
  bool want_attr = true;     // attributes of a new or linked object are wanted, even if the target needs another request for them
  bool untimed = false;  // Outcome::completed may stay 0 if submit() completes the request, because the caller does not use it
  uint64_t stream = 0;   // its stream, from 1, by which a target deals it to one of its clients; 0: to any of them
  bool alone = false;    // the session gets no other request before this one has ended, so submit() may wait for it
  Outcome outcome;
  void* owner = nullptr;  // for the engine
};

enum class Submit : uint8_t {
  completed,  // done within the call; outcome is set, and there is no callback
  queued,     // poll() will call the completion callback
  busy,       // the session's limit is reached; submit again after a poll() that has completed something
};

class Completion {
 public:
  virtual void completed(TargetRequest& request) = 0;

 protected:
  ~Completion() = default;
};

// A connection or a ring. Used by one thread.
class TargetSession {
 public:
  virtual ~TargetSession() = default;
  virtual Submit submit(TargetRequest& request) = 0;
  // Completes the requests that are ready. Otherwise waits for the first completion, for `wake` (eventfd; returns when it is
  // readable) or for `deadline`, whichever comes first. `deadline`: ns on the target's clock; not after now: does not wait. Never
  // throws for a broken connection: requests in flight complete with an error.
  virtual void poll(int64_t deadline, int wake, Completion& sink) = 0;
  // Prefers throughput to latency. With many requests in flight, some may complete a fraction of a millisecond later than
  // possible, together with others.
  virtual void prefer_throughput() {}
};

struct TargetOptions {
  Clock* clock = nullptr;    // required
  bool privileged = false;   // allow device nodes, set-id bits, trusted/security xattrs, ioctls
  bool impersonate = false;  // act as the user in TargetRequest::who
  bool force = false;        // overwrite a device that holds data
  std::vector<std::string> principals =
      {};  // Kerberos principals to act as; empty: users are numbers. See Credentials::principal
};

struct Space {
  uint64_t total = 0, free = 0;  // bytes; both 0: not known
};

// Mapping of operations to requests, for one kind of target and one dialect of its protocol. It is the source of
// docs/operations.md. The conformance suite tests targets against it.
struct OpMapping {
  const char* name;  // heading of the column: "NFSv3", "9P2000.u"
  // Returns the same as Target::fidelity() for a server that has everything the dialect offers. If the server lacks what an
  // operation needs, Target::fidelity() returns impossible.
  Fidelity (*fidelity)(const Op& op, bool privileged);
  // Returns the requests for an operation, in the terms of the protocol. Null or "": there is nothing to say.
  const char* (*requests)(OpKind kind) = nullptr;
};

// A file that a run uses.
struct FileUse {
  ObjectId object = kNoObject;
  uint64_t end = 0;  // bytes; end of the used part of the file
};

// A directory that some file systems keep in their root. It belongs to no one's tree.
constexpr std::string_view kLostAndFound = "lost+found";

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string name() const = 0;                         // as in the URL, for reports: "nfs://127.0.0.1:12049/vfs"
  virtual Fidelity fidelity(const Op& op) const = 0;            // may depend on arguments, such as a rename flag, never on state
  virtual const OpMapping* mapping() const { return nullptr; }  // mapping of the plugin that applies to this server; null: none
  virtual std::unique_ptr<TargetSession> open_session() = 0;    // throws std::runtime_error with one clear line
  virtual Space space() { return {}; }
  virtual bool empty() { return true; }  // true: the root is empty, but for kLostAndFound
  // Returns known mount points inside the target, as paths below its root. No operation passes such a point: a lookup of it fails
  // with EXDEV, even if the target learns of the mount only then.
  virtual std::vector<std::string> mount_points() { return {}; }
  // A target without names (places_files() is true) assigns space to each file of a run before the first session. The files come
  // in the order of their first use. Throws std::runtime_error if there is too little space. Other targets do nothing.
  virtual bool places_files() const { return false; }
  virtual void place_files(std::span<const FileUse>) {}
  // Forgets a name of an object, because another process has removed it. Any thread. Only targets that reach objects by names
  // need this.
  virtual void forget_name(ObjectId, ObjectId /*parent*/, std::string_view /*name*/) {}
  // Counters of the whole target besides operations: reconnects, retransmissions, silly renames, lost writes.
  virtual std::vector<std::pair<std::string, uint64_t>> counters() const { return {}; }
  // Clients of the target, to which operations are dealt by TargetRequest::stream. Empty figures: there is only one.
  virtual uint32_t number_of_clients() const { return 1; }
  virtual std::vector<ClientFigures> client_figures() { return {}; }
  // Returns the number of requests on the wire so far, by NFS procedure ("getattr"). Counts those of the target's own client, or
  // of the kernel's client for the file system of a directory. In version 4, a COMPOUND counts as one request, of its main
  // operation. Empty: not known. Never blocks.
  virtual std::vector<std::pair<std::string, uint64_t>> requests() const { return {}; }
  // Operations that its clients have ended. Null: there is only one client.
  virtual const EndedOverTime* ended_over_time() const { return nullptr; }
};

// One kind of target. `open` throws std::runtime_error if the URL is wrong, the server refuses or there is no server.
struct TargetPlugin {
  const char* scheme;  // "nfs": for URLs "nfs://..." and "nfs:..."
  const char* help;    // one line for `fsreplay --help`; null: the line of another plugin includes it
  std::unique_ptr<Target> (*open)(const std::string& url, const TargetOptions& options);
  std::span<const OpMapping> mappings = {};  // one for each dialect; empty: not in docs/operations.md
  // True: users to act as are Kerberos principals at this URL. Null: they are numbers. Throws as `open` does.
  bool (*users_are_principals)(const std::string& url) = nullptr;
};

std::span<const TargetPlugin* const> target_plugins();
// Opens a target. `url`: a URL of a known scheme, or a directory (the same as file:DIR).
std::unique_ptr<Target> open_target(const std::string& url, const TargetOptions& options);
bool users_are_principals(const std::string& url);  // as TargetPlugin::users_are_principals; false for other targets

}  // namespace fsr
