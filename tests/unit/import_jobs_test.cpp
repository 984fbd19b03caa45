// SPDX-License-Identifier: Apache-2.0
// Importers of logs of jobs: Darshan's DXT and DFTracer.
#include <fcntl.h>

#include <cerrno>
#include <set>
#include <string>

#include "imported.hpp"

namespace fsr::import_jobs_test {

static std::string section(const std::string& file, const std::string& lines) {
  return "\n# DXT, file_id: 1, file_name: " + file + "\n# DXT, rank: 0, hostname: n\n# Module Rank ...\n" + lines;
}

TEST_CASE("transfers of a DXT log are put in order of time across files and ranks") {
  const Imported i("dxt",
                   "# darshan log version: 3.41\n# exe: /opt/bin/solver in.cfg\n# start_time: 1700000000\n" +
                       section("/w/a b",
                               " X_POSIX 0 write 0 0 4096 0.0010 0.0030 139\n X_POSIX 0 write 1 4096 4096 0.0020 0.0025 139\n"
                               " X_POSIX 0 read 0 8192 0 0.5000 0.5000 [3] [4] 139\n") +
                       section("/w/c", " X_POSIX 1 read 0 1048576 512 0.0005 0.0006 N/A\n") +
                       section("<STDOUT>", " X_POSIX 1 write 0 0 6 0.0007 0.0008 N/A\n"));
  REQUIRE(i.count(OpKind::write) == 2);
  REQUIRE(i.count(OpKind::read) == 2);
  const Op& first = i.op(OpKind::read);
  CHECK(first.start == 1'700'000'000'000'500'000);
  CHECK(first.duration == 100'000);
  CHECK(first.offset == 1'048'576);
  CHECK(first.result == 512);
  CHECK(first.who->command == "solver");
  CHECK(first.who->pid != i.op(OpKind::write).who->pid);               // another rank
  CHECK(i.op(OpKind::write, 1).thread != i.op(OpKind::write).thread);  // they overlap
  CHECK(i.op(OpKind::read, 1).length == 1);                            // something was asked for at the end of the file
  CHECK(i.op(OpKind::read, 1).result == 0);
  CHECK(i.notes.total(ImportNotes::lost) == 0);
  CHECK(i.notes.total(ImportNotes::ignored) == 1);
}

TEST_CASE("requests of MPI-IO stand for transfers only where the log has none") {
  const std::string posix = " X_POSIX 0 write 0 0 4000 0.1 0.2 1\n", mpi = " X_MPIIO 0 write 0 0 4000 0.1 0.2 N/A\n";
  const Imported both("dxt", section("/w/a", posix) + section("/w/a", mpi));
  CHECK(both.count(OpKind::write) == 1);
  CHECK(both.notes.total(ImportNotes::ignored) == 1);
  const Imported alone("dxt", section("/w/a", mpi));
  REQUIRE(alone.count(OpKind::write) == 1);
  CHECK(alone.op(OpKind::write).has(kOpInferred));
  CHECK(alone.notes.total(ImportNotes::changed) == 1);
  const Imported nowhere("dxt", section("/w/a", " X_MPIIO 0 write 0 N/A 4000 0.1 0.2 N/A\n"));
  CHECK(nowhere.count(OpKind::write) == 0);
  CHECK(nowhere.notes.total(ImportNotes::lost) == 1);
}

TEST_CASE("a DXT log that says it is incomplete, or is damaged, has lost something") {
  const Imported full("dxt", "# *WARNING*: The DXT_POSIX module contains incomplete data!\n" +
                                 section("/w/a", " X_POSIX 0 write 0 0 10 0.1 0.2 1\n"));
  CHECK(full.notes.total(ImportNotes::lost) == 1);
  const Imported damaged(
      "dxt", section("/w/a", " X_POSIX 0 write 0 -5 10 0.1 0.2 1\n X_POSIX 0 wr\n X_POSIX 0 read 0 0 10 0.2 0.1 1\n"));
  CHECK(damaged.notes.total(ImportNotes::lost) == 2);
  REQUIRE(damaged.count(OpKind::read) == 1);
  CHECK(damaged.op(OpKind::read).duration == 0);
}

static std::string event(const std::string& name, const std::string& at, const std::string& args, const std::string& tid = "70") {
  return "{\"name\":\"" + name + "\",\"cat\":\"POSIX\",\"pid\":70,\"tid\":" + tid + "," + at +
         ",\"ph\":\"X\",\"args\":{\"hhash\":1,\"fhash\":\"9f\"," + args + "}}\n";
}
static const std::string kName = "[\n{\"name\":\"FH\",\"ph\":\"M\",\"args\":{\"name\":\"/w/data\",\"value\":\"9f\"}}\n";

TEST_CASE("events of DFTracer become the calls of their threads, in order of their starts") {
  // Written when calls end: the thread's short call stands before the long one that began earlier.
  const Imported i("dftracer", kName + event("open64", "\"ts\":100,\"dur\":5", "\"flags\":0,\"ret\":3") +
                                   event("pread64", "\"ts\":120,\"dur\":10",
                                         "\"fd\":3,\"count\":512,\"offset\":\"4096\",\"ret\":\"512\"", "71") +
                                   event("read", "\"ts\":110,\"dur\":50", "\"fd\":3,\"count\":1000,\"ret\":1000") +
                                   event("read", "\"ts\":160,\"dur\":1", "\"fd\":3,\"count\":1000,\"ret\":10") +
                                   event("close", "\"ts\":170,\"dur\":1", "\"fd\":3,\"ret\":0"));
  REQUIRE(i.count(OpKind::open) == 1);
  REQUIRE(i.count(OpKind::read) == 3);
  CHECK(i.op(OpKind::read).start == 110'000);
  CHECK(i.op(OpKind::read).duration == 50'000);
  CHECK(i.op(OpKind::read, 1).start == 120'000);
  CHECK(i.op(OpKind::read, 1).offset == 4096);
  CHECK(i.op(OpKind::read, 1).who->pid == i.op(OpKind::read).who->pid);
  CHECK(i.op(OpKind::read, 1).thread != i.op(OpKind::read).thread);
  CHECK(i.op(OpKind::read, 2).offset == 1000);  // behind what was read
  CHECK(i.op(OpKind::read, 2).handle == i.op(OpKind::open).handle);
  CHECK(i.count(OpKind::release) == 1);
  CHECK(i.notes.total(ImportNotes::lost) == 0);
}

TEST_CASE("logs of DFTracer 2, without descriptors and results of open, are read in their unit of time") {
  const std::string at = R"(,"pid":70,"tid":70,"ph":1,"dur":500,"ts":)";
  const auto call = [&](const std::string& name, int ts, const std::string& args) {
    return R"({"id":1,"name":")" + name + R"(","cat":"POSIX","type":3)" + at + std::to_string(ts) +
           R"(,"args":{"hhash":"a1","fhash":"9f")" + args + "}}\n";
  };
  const auto metadata = [](const std::string& name, const std::string& of, const std::string& value) {
    return R"({"name":")" + name + R"(","cat":"dftracer","type":1,"pid":70,"tid":70,"ph":4,"args":{"hhash":"a1","name":")" + of +
           R"(","value":")" + value + "\"}}\n";
  };
  const std::string head = metadata("CM", "time_metric", "NS") + metadata("FH", "/w/data", "9f") + metadata("FH", "/w/new", "9e");
  const Imported i("dftracer", head + call("open64", 1000, R"(,"flags":0)") +
                                   call("lseek64", 2000, R"(,"ret":100,"whence":0,"offset":100)") +
                                   call("readv", 3000, R"(,"ret":20,"iovcnt":2)") + call("close", 4000, R"(,"ret":0)") +
                                   call("rename", 5000, R"(,"newpath_hash":"9e")"));
  CHECK(i.op(OpKind::open).start == 1000);
  CHECK(i.op(OpKind::read).duration == 500);
  CHECK(i.op(OpKind::read).offset == 100);
  CHECK(i.op(OpKind::read).result == 20);
  CHECK(i.op(OpKind::read).handle == i.op(OpKind::open).handle);
  CHECK(i.count(OpKind::release) == 1);
  CHECK(i.count(OpKind::rename) == 1);
  CHECK(i.notes.total(ImportNotes::lost) == 0);
  CHECK(i.notes.total(ImportNotes::changed) == 2);  // open and rename: success is assumed

  const Imported twice("dftracer", head + call("open", 1000, R"(,"flags":0)") + call("open", 2000, R"(,"flags":0)"));
  CHECK(twice.notes.total(ImportNotes::changed) == 3);
  // Paths whose files are open at once have descriptors of their own, however many there are.
  std::string many = metadata("CM", "time_metric", "NS");
  for (int n = 0; n < 1500; ++n) {
    const std::string hash = std::to_string(n);
    std::string open = call("open", 1000 * n, R"(,"flags":0)"), read = call("read", 1000 * (n + 1500), R"(,"ret":20,"count":20)");
    for (std::string* line : {&open, &read}) line->replace(line->find("9f"), 2, hash);
    many += metadata("FH", "/w/f" + hash, hash) + open + read;
  }
  const Imported apart("dftracer", many);
  REQUIRE(apart.count(OpKind::read) == 1500);
  std::set<uint64_t> objects;
  for (size_t n = 0; n < 1500; ++n) objects.insert(apart.op(OpKind::read, n).object);
  CHECK(objects.size() == 1500);
  // A file that is opened below a directory's descriptor has the directory's hash.
  const Imported below("dftracer", head + call("open", 1000, R"(,"flags":0)") +
                                       call("openat", 2000, R"(,"flags":0,"dirfd":5,"pathname":"x")") +
                                       call("read", 3000, R"(,"ret":20,"count":20)") + call("close", 4000, R"(,"ret":0)"));
  CHECK(below.count(OpKind::read) == 0);
  CHECK(below.notes.total(ImportNotes::lost) == 3);
  std::string sums = call("read", 1000, R"(,"ret":20)");
  sums.replace(sums.find(R"("ph":1)"), 6, R"("ph":3)");
  CHECK(Imported("dftracer", head + sums).notes.total(ImportNotes::lost) == 1);
}

TEST_CASE("what DFTracer does not log is counted") {
  const Imported i("dftracer", kName + event("open64", "\"ts\":1,\"dur\":1", "\"flags\":0,\"ret\":-1") +
                                   event("unlink", "\"ts\":2,\"dur\":1", "\"x\":0") +
                                   event("read", "\"ts\":3,\"dur\":1", "\"fd\":3,\"count\":1,\"ret\":-1") +
                                   event("opendir", "\"ts\":4,\"dur\":1", "\"x\":0") +
                                   event("write", "\"ts\":-5,\"dur\":1", "\"fd\":3,\"count\":1,\"ret\":1") +
                                   "{\"name\":\"read\",\"cat\":\"POSIX\"\n");
  CHECK(i.op(OpKind::lookup).error == ENOENT);
  CHECK(i.count(OpKind::unlink) == 1);
  CHECK(i.notes.total(ImportNotes::changed) == 2);
  CHECK(i.notes.total(ImportNotes::lost) == 4);
}

}  // namespace fsr::import_jobs_test
