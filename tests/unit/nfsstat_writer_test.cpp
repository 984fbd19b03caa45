// SPDX-License-Identifier: Apache-2.0
#include "mix/nfsstat_writer.hpp"

#include <fstream>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "mix/mix.hpp"
#include "mix/op_procedures.hpp"
#include "mix/procedures.hpp"
#include "test_data.hpp"

namespace fsr::nfsstat_writer_test {

namespace {

using Counts = std::array<uint64_t, kOpKinds>;

std::string contents_of(const char* name) {
  std::ifstream file(test_data(name));
  REQUIRE(file.is_open());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the writer prints a mixfile as nfsstat -s -3 does") {
  Counts counts{};
  auto set = [&](OpKind kind, uint64_t n) { counts[unsigned(kind)] = n; };
  set(OpKind::null, 40);
  set(OpKind::getattr, 25000);
  set(OpKind::statx, 1000);
  set(OpKind::setattr, 1000);
  set(OpKind::lookup, 24000);
  set(OpKind::access, 13000);
  set(OpKind::readlink, 1000);
  set(OpKind::read, 18000);
  set(OpKind::write, 9000);
  set(OpKind::create, 900);
  set(OpKind::tmpfile, 100);
  set(OpKind::mkdir, 200);
  set(OpKind::symlink, 10);
  set(OpKind::unlink, 1000);
  set(OpKind::rmdir, 150);
  set(OpKind::rename, 200);
  set(OpKind::link, 20);
  set(OpKind::readdir, 500);
  set(OpKind::readdirplus, 2600);
  set(OpKind::statfs, 1000);
  set(OpKind::fsync, 1280);
  const std::string expected = contents_of("mix/nfsstat-s-3.txt");
  CHECK(nfsstat_text(counts) == expected);

  // Operations without a procedure of NFSv3 do not count.
  for (OpKind kind : {OpKind::open, OpKind::release, OpKind::flush, OpKind::opendir, OpKind::releasedir, OpKind::fsyncdir,
                      OpKind::getxattr, OpKind::setlk, OpKind::lseek, OpKind::copy_file_range, OpKind::ioctl})
    set(kind, 7777);
  CHECK(nfsstat_text(counts) == expected);
}

TEST_CASE("every procedure of NFSv3 but fsinfo and pathconf stands for an operation") {
  std::set<int> procedures;
  for (unsigned kind = 0; kind < kOpKinds; ++kind) procedures.insert(nfs_procedure_of(3, OpKind(kind)));
  procedures.erase(-1);
  CHECK(procedures.size() == nfs_procedures(3).size() - 2);
  CHECK(procedures.count(nfs_procedure_index(3, "fsinfo")) == 0);
  CHECK(procedures.count(nfs_procedure_index(3, "pathconf")) == 0);
}

TEST_CASE("the reader gets back the numbers of a written mixfile") {
  for (unsigned version : {2u, 3u, 4u}) {
    INFO("version " << version);
    // Small numbers, numbers that are rounded away, and so many digits that cells overflow.
    for (uint64_t scale : {uint64_t(1), uint64_t(1'000'003), uint64_t(100'000'000'000)}) {
      std::vector<uint64_t> calls;
      for (size_t i = 0; i < nfs_procedures(version).size(); ++i) calls.push_back(i % 5 == 3 ? 0 : (i * i + 1) * scale);
      std::vector<std::string> texts = {linux_nfsstat_text(version, calls, 7)};
      if (version == 2) texts.push_back(sunos_nfsstat_text(calls));
      for (const std::string& text : texts) {
        INFO(text);
        const Mix mix = read_mix({text, "written"});
        CHECK(mix.nfs_version == version);
        std::vector<uint64_t> counts;
        for (const MixProcedure& p : mix.procedures) counts.push_back(p.count);
        CHECK(counts == calls);
      }
    }
    std::vector<uint64_t> one(nfs_procedures(version).size());
    one[4] = 123'456'789;
    CHECK(read_mix({linux_nfsstat_text(version, one, 1), "written"}).procedures[4].count == 123'456'789);
  }
}

TEST_CASE("the writer prints the SunOS layout that the original reads") {
  const std::vector<uint64_t> calls = {2, 13000, 1000, 0, 34000, 8000, 22000, 0, 15000, 2000, 1000, 0, 0, 0, 0, 0, 3000, 998};
  std::string expected = contents_of("mix/sunos-s.txt");
  expected.replace(expected.find("7          0          0          7"), 35, "0          0          0          0 ");
  CHECK(sunos_nfsstat_text(calls) == expected);
}

TEST_CASE("the reader reads an empty mixfile and one with huge counts") {
  Counts counts{};
  CHECK(nfsstat_text(counts).find("read             write") != std::string::npos);
  CHECK(nfsstat_text(counts).find("0         0%     0         0%") != std::string::npos);
  counts[unsigned(OpKind::read)] = 90'000'000'000'000'000;
  CHECK(nfsstat_text(counts).find("90000000000000000 100%") != std::string::npos);
}

}  // namespace fsr::nfsstat_writer_test
