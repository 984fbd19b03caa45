// SPDX-License-Identifier: Apache-2.0
// Operations that are made of the records of the kernel's hooks.
#include "witness/witness_ops.hpp"

#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "catch.hpp"
#include "op_sink.hpp"

namespace fsr::witness_ops_test {

using namespace fsr::shim;

namespace {

constexpr witness_place kRoot{100, 1};
constexpr uint64_t kFile = 0xffff888001000000;  // address of an open file

// A line for each operation: kind, error, object, parent, name, handle.
class LineSink final : public OpSink {
 public:
  void add(const Op& op) override {
    CHECK(op.start >= last_);
    last_ = op.start;
    thread = op.who->id;
    data = op.data;
    if (!keeps) return;
    lines.push_back(std::string(op.has(kOpInferred) ? "?" : "") + op_name(op.kind) + " " + std::to_string(op.error) + " #" +
                    std::to_string(op.object) + " in #" + std::to_string(op.parent) + " '" + std::string(op.name) + "' h" +
                    std::to_string(op.handle));
  }
  uint64_t add_start(const Op& op) override {
    add(op);
    lines.back() += " unended";
    return 0;
  }
  void add_end(uint64_t, const Op&) override {}
  SinkState tick(int64_t, const RecorderState&) override { return {}; }
  void finish(bool, const std::string&, int64_t, const RecorderState&) override {}

  std::vector<std::string> lines;
  bool keeps = true;    // false: no lines
  ThreadId thread = 0;  // of the last operation
  std::string data;     // of the last operation

 private:
  int64_t last_ = 0;
};

// A record with a name and its bytes behind it.
struct Made {
  alignas(witness_record) char bytes[sizeof(witness_record) + 2 * kWitnessName + 64] = {};
  Made(witness_kind kind, int64_t start, witness_place parent = {}, const char* name = "") {
    record().kind = kind;
    record().layout = kWitnessNames;
    record().start = uint64_t(start);
    record().end = uint64_t(start) + 1;
    record().parent = parent;
    record().name_length = uint32_t(strlen(name));
    memcpy(bytes + sizeof(witness_record), name, strlen(name));
    record().tid = record().pid = 7;
  }
  witness_record& record() { return *reinterpret_cast<witness_record*>(bytes); }
  Made& object(uint64_t number, uint32_t mode, uint32_t links = 1) {
    record().object = {
        .number = number, .size = 0, .blocks = 0, .generation = 1, .mode = mode, .uid = 0, .gid = 0, .links = links, .device = 0};
    return *this;
  }
  Made& file(uint64_t address) {
    record().file = address;
    return *this;
  }
  Made& value(const char* attribute, const std::string& value) {
    char* const text = bytes + sizeof(witness_record);
    record().layout = kWitnessValue;
    record().text_length = uint32_t(strlen(attribute));
    memcpy(text + kWitnessName, attribute, strlen(attribute));
    record().mode = uint32_t(value.size());
    memcpy(text + 2 * kWitnessName, value.data(), value.size());
    return *this;
  }
  Made& result(int64_t value) {
    record().result = value;
    return *this;
  }
};

struct Trace {
  WitnessOps ops{kRoot, 0};
  LineSink sink;
  void operator()(Made& made) {
    WitnessOps::Handles handles;
    if (ops.arrived(made.record(), &handles)) ops.add(made.record(), handles, int64_t(made.record().start), sink);
  }
  void operator()(Made&& made) { (*this)(made); }
};

}  // namespace

TEST_CASE("a file of the kernel's hooks is introduced once, with the directories above it") {
  Trace trace;
  trace(Made(kWitnessPlace, 1, {101, 1}, "deep").object(102, S_IFDIR | 0755));
  trace(Made(kWitnessPlace, 1, kRoot, "top").object(101, S_IFDIR | 0755));
  trace(Made(kWitnessGetattr, 2, {102, 1}, "f").object(103, S_IFREG | 0644));
  trace(Made(kWitnessGetattr, 3, {102, 1}, "f").object(103, S_IFREG | 0644));
  trace(Made(kWitnessGetattr, 4).object(100, S_IFDIR | 0755));
  const size_t n = trace.sink.lines.size();
  REQUIRE(n == 6);
  CHECK(trace.sink.lines[0].starts_with("?lookup 0"));
  CHECK(trace.sink.lines[0].find("in #1 'top'") != std::string::npos);
  CHECK(trace.sink.lines[1].find("'deep'") != std::string::npos);
  CHECK(trace.sink.lines[2].find("'f'") != std::string::npos);
  CHECK(trace.sink.lines[3] == trace.sink.lines[4]);
  CHECK(trace.sink.lines[5] == "getattr 0 #1 in #0 '' h0");
}

TEST_CASE("an open file's address that the kernel uses again is another open instance") {
  Trace trace;
  trace(Made(kWitnessCreate, 1, kRoot, "f").object(103, S_IFREG | 0644).file(kFile));
  trace(Made(kWitnessWrite, 2).object(103, S_IFREG | 0644).file(kFile).result(5));
  // The release comes first, but the next open had begun before it.
  Made release = Made(kWitnessRelease, 5).object(103, S_IFREG | 0644).file(kFile);
  Made open = Made(kWitnessOpen, 4, kRoot, "f").object(103, S_IFREG | 0644).file(kFile);
  WitnessOps::Handles released, opened;
  trace.ops.arrived(release.record(), &released);
  trace.ops.arrived(open.record(), &opened);
  trace.ops.add(open.record(), opened, 4, trace.sink);
  trace.ops.add(release.record(), released, 5, trace.sink);
  trace(Made(kWitnessRead, 6).object(103, S_IFREG | 0644).file(kFile).result(-EIO));
  const std::vector<std::string> wanted{"create 0 #2 in #1 'f' h1", "write 0 #2 in #0 '' h1", "open 0 #2 in #0 '' h2",
                                        "release 0 #2 in #0 '' h1", "read 5 #2 in #0 '' h2"};
  CHECK(trace.sink.lines == wanted);
}

TEST_CASE("a call that has not ended is a start without an end") {
  Trace trace;
  trace(Made(kWitnessCreate, 1, kRoot, "f").object(103, S_IFREG | 0644).file(kFile));
  Made waits = Made(kWitnessFlock, 2).object(103, S_IFREG | 0644).file(kFile);
  waits.record().marks = kWitnessUnended;
  trace(waits);
  CHECK(trace.sink.lines.back() == "flock 0 #2 in #0 '' h1 unended");
}

TEST_CASE("a name that was removed and made again is another file, also if the file system has no generations") {
  Trace trace;
  trace(Made(kWitnessMkdir, 1, kRoot, "d").object(103, S_IFDIR | 0755, 2));
  trace(Made(kWitnessRmdir, 2, kRoot, "d").object(103, S_IFDIR | 0755, 2));
  trace(Made(kWitnessMkdir, 3, kRoot, "d").object(103, S_IFDIR | 0755, 2));
  const std::vector<std::string> wanted{"mkdir 0 #2 in #1 'd' h0", "rmdir 0 #2 in #1 'd' h0", "mkdir 0 #3 in #1 'd' h0"};
  CHECK(trace.sink.lines == wanted);
}

TEST_CASE("a file that somebody else removed is another one than the next with its number") {
  Trace trace;
  trace(Made(kWitnessGetattr, 1, kRoot, "f").object(103, S_IFREG | 0644));
  trace(Made(kWitnessRemoved, 2).object(103, S_IFREG | 0644, 0));
  trace(Made(kWitnessGetattr, 3, kRoot, "f").object(103, S_IFREG | 0644));
  const std::vector<std::string> wanted{"?lookup 0 #2 in #1 'f' h0", "getattr 0 #2 in #0 '' h0", "?lookup 0 #3 in #1 'f' h0",
                                        "getattr 0 #3 in #0 '' h0"};
  CHECK(trace.sink.lines == wanted);
}

TEST_CASE("a file with many names is introduced once by each") {
  Trace trace;
  for (int round = 0; round < 2; ++round)
    for (const char* name : {"a", "b", "c"}) trace(Made(kWitnessGetattr, 1, kRoot, name).object(103, S_IFREG | 0644, 3));
  trace(Made(kWitnessUnlink, 2, kRoot, "b").object(103, S_IFREG | 0644, 3));
  for (const char* name : {"a", "b", "c"}) trace(Made(kWitnessGetattr, 3, kRoot, name).object(103, S_IFREG | 0644, 3));
  const std::vector<std::string>& lines = trace.sink.lines;
  const auto lookups = [&](size_t from) {
    return std::count_if(lines.begin() + ptrdiff_t(from), lines.end(),
                         [](const std::string& l) { return l.starts_with("?lookup"); });
  };
  REQUIRE(lines.size() == 14);
  CHECK(lookups(0) == 4);
  CHECK(lookups(10) == 1);  // after the removal
}

TEST_CASE("an access list of the kernel becomes what a system call sets") {
  // Version; tag, permissions and id of the owner, user 7 and the others. The kernel's list has bytes by chance where no id
  // belongs.
  const std::string kernels(
      "\2\0\0\0"
      "\1\0\6\0XXXX"
      "\2\0\4\0\7\0\0\0"
      "\40\0\0\0YYYY",
      28);
  const std::string wanted(
      "\2\0\0\0"
      "\1\0\6\0\377\377\377\377"
      "\2\0\4\0\7\0\0\0"
      "\40\0\0\0\377\377\377\377",
      28);
  Trace trace;
  for (const bool of_kernel : {true, false}) {
    Made set = Made(kWitnessSetxattr, 1, kRoot, "f").object(103, S_IFREG | 0644).value("system.posix_acl_access", kernels);
    set.record().marks = of_kernel ? kWitnessAcl : 0;
    trace(set);
    CHECK(trace.sink.lines.back() == "setxattr 0 #2 in #0 'system.posix_acl_access' h0");
    CHECK(trace.sink.data == (of_kernel ? wanted : kernels));
  }
}

TEST_CASE("an operation that was too long for its place is marked") {
  Trace trace;
  Made made(kWitnessLookup, 1, kRoot, "missing");
  made.result(-ENOENT);
  trace.ops.add(made.record(), {}, 9, trace.sink);
  CHECK(trace.sink.lines == std::vector<std::string>{"?lookup 2 #0 in #1 'missing' h0"});
}

TEST_CASE("memory follows the threads that live, the files that exist and the open instances") {
  Trace trace;
  trace.sink.keeps = false;
  constexpr uint32_t kNobody = 1 << 23;  // thread ids that no kernel gives
  uint64_t file = kFile;
  int64_t now = 1;
  auto hour = [&] {
    for (uint32_t i = 0; i < 36'000; ++i, now += 100'000'000) {
      // Each process makes a file that never has a name. Releases of some were lost, and the kernel uses their addresses again.
      Made made = Made(kWitnessTmpfile, now, kRoot).object(1000 + uint64_t(now), S_IFREG | 0644, 0).file(file);
      Made release = Made(kWitnessRelease, now + 1).object(1000 + uint64_t(now), S_IFREG | 0644).file(file);
      for (Made* m : {&made, &release}) {
        m->record().tid = m->record().pid = kNobody + i;
        m->record().task_start = uint64_t(now);
        memcpy(m->record().comm, std::to_string(now % 1'000'000'000'000'000).c_str(), 15);
      }
      trace(made);
      if (i % 2) trace(release);
      // A directory whose place is told again, because the kernel forgot that it had told it.
      const uint64_t directory = 2000 + uint64_t(now);
      trace(Made(kWitnessMkdir, now + 2, kRoot, "d").object(directory, S_IFDIR | 0755, 2));
      trace(Made(kWitnessPlace, now + 3, kRoot, "d").object(directory, S_IFDIR | 0755, 2));
      trace(Made(kWitnessRmdir, now + 4, kRoot, "d").object(directory, S_IFDIR | 0755, 2));
      // A file has two names, which an uncaptured process removes.
      const uint64_t others = 3000 + uint64_t(now);
      for (const char* name : {"one", "two"})
        trace(Made(kWitnessGetattr, now + 5, kRoot, name).object(others, S_IFREG | 0644, 2));
      trace(Made(kWitnessRemoved, now + 6).object(others, S_IFREG | 0644, 0));
      if (i % 10 == 0) trace.ops.forget_ended(now);
    }
  };
  hour();
  const size_t before = mallinfo2().uordblks;
  hour();
  const size_t after = mallinfo2().uordblks;
  CHECK(after < before + 200'000);
}

TEST_CASE("a directory that was made is known to an operation that began before") {
  Trace trace;
  Made inside(kWitnessGetattr, 10, {7, 1}, "file");
  Made made(kWitnessMkdir, 20, kRoot, "new");
  made.object(7, S_IFDIR | 0755, 2);
  made.record().object.generation = 1;
  WitnessOps::Handles handles;
  CHECK(trace.ops.arrived(made.record(), &handles));
  trace(inside.object(8, S_IFREG | 0644));
  trace(made);
  CHECK(trace.sink.lines == std::vector<std::string>{"?lookup 0 #2 in #1 'new' h0", "?lookup 0 #3 in #2 'file' h0",
                                                     "getattr 0 #3 in #0 '' h0", "mkdir 0 #2 in #1 'new' h0"});
}

TEST_CASE("without generations, a directory that is made does not take the place of one before it") {
  Trace trace;
  Made place(kWitnessPlace, 5, kRoot, "old");
  Made rmdir(kWitnessRmdir, 10, kRoot, "old"), made(kWitnessMkdir, 20, kRoot, "new");
  WitnessOps::Handles handles;
  for (Made* m : {&place, &rmdir, &made}) {
    m->object(7, S_IFDIR | 0755, 2);
    m->record().object.generation = 0;
  }
  CHECK(!trace.ops.arrived(place.record(), &handles));
  Made inside(kWitnessUnlink, 8, {7, 0}, "file");
  CHECK(trace.ops.arrived(made.record(), &handles));
  trace(inside.object(8, S_IFREG | 0644));
  trace(rmdir);
  trace(made);
  REQUIRE(trace.sink.lines.size() == 5);
  CHECK(trace.sink.lines[0] == "?lookup 0 #2 in #1 'old' h0");
  CHECK(trace.sink.lines[4].starts_with("mkdir 0 #4 in #1 'new'"));
}

TEST_CASE("a thread that lives keeps its number, however long it was quiet") {
  Trace trace;
  const auto number_at = [&](int64_t start, uint32_t tid) {
    Made made(kWitnessLookup, start, kRoot, "missing");
    made.result(-ENOENT);
    made.record().tid = made.record().pid = tid;
    trace(made);
    return trace.sink.thread;
  };
  constexpr int64_t kMinute = 60'000'000'000;
  constexpr uint32_t kNobody = 1 << 23;
  const uint32_t self = uint32_t(gettid());
  const ThreadId lives = number_at(1, self), ended = number_at(2, kNobody);
  trace.ops.forget_ended(kMinute);
  CHECK(number_at(kMinute, kNobody) == ended);  // its last operation had waited for its place
  trace.ops.forget_ended(2 * kMinute);
  trace.ops.forget_ended(3 * kMinute);
  CHECK(number_at(3 * kMinute, self) == lives);
  CHECK(number_at(3 * kMinute, kNobody) != ended);
}

}  // namespace fsr::witness_ops_test
