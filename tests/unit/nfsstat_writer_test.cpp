// SPDX-License-Identifier: Apache-2.0
#include "mix/nfsstat_writer.hpp"

#include <fstream>
#include <set>
#include <sstream>

#include "catch.hpp"

using namespace fsr;

namespace {

using Counts = std::array<uint64_t, kOpKinds>;

std::string test_data(const char* name) {
  std::ifstream file(std::string(FSR_TEST_DATA) + "/" + name);
  REQUIRE(file.is_open());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a mixfile is what nfsstat -s -3 prints") {
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
  const std::string expected = test_data("mix/nfsstat-s-3.txt");
  CHECK(nfsstat_text(counts) == expected);

  // What NFSv3 has no procedure for leaves no mark.
  for (OpKind kind : {OpKind::open, OpKind::release, OpKind::flush, OpKind::opendir, OpKind::releasedir, OpKind::fsyncdir,
                      OpKind::getxattr, OpKind::setlk, OpKind::lseek, OpKind::copy_file_range, OpKind::ioctl})
    set(kind, 7777);
  CHECK(nfsstat_text(counts) == expected);
}

TEST_CASE("every procedure but fsinfo and pathconf stands for an operation") {
  std::set<int> procedures;
  for (unsigned kind = 0; kind < kOpKinds; ++kind) procedures.insert(nfs3_procedure(OpKind(kind)));
  procedures.erase(-1);
  CHECK(procedures.size() == kNfs3Procedures - 2);
  CHECK(procedures.count(19) == 0);
  CHECK(procedures.count(20) == 0);
}

TEST_CASE("a mixfile of nothing and of very much stays readable") {
  Counts counts{};
  CHECK(nfsstat_text(counts).find("read             write") != std::string::npos);
  CHECK(nfsstat_text(counts).find("0         0%     0         0%") != std::string::npos);
  counts[unsigned(OpKind::read)] = 90'000'000'000'000'000;
  CHECK(nfsstat_text(counts).find("90000000000000000 100%") != std::string::npos);
}
