// SPDX-License-Identifier: Apache-2.0
// Rules that the kernel's hooks apply by themselves, and the control groups that a capture is limited to.
#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "catch.hpp"
#include "trace/unseen_names.hpp"
#include "util/mountinfo.hpp"
#include "witness/cgroups.hpp"
#include "witness/early_filter.hpp"

namespace fsr::witness_scope_test {

using namespace fsr::shim;

namespace {

// As left_out.bpf.h decides.
bool left_out(const EarlyFilter& filter, witness_kind kind, uint32_t uid, uint32_t pid) {
  auto refused = [&](witness_id_rule only, witness_id_rule except, uint32_t id) {
    auto chosen = [&](witness_id_rule rule) {
      return std::any_of(filter.ids.begin(), filter.ids.end(), [&](const witness_id& i) { return i.rule == rule && i.id == id; });
    };
    auto given = [&](witness_id_rule rule) { return (filter.id_rules >> rule & 1) != 0; };
    return (given(only) && !chosen(only)) || (given(except) && chosen(except));
  };
  if (!(filter.kinds >> kind & 1)) return false;
  return (filter.unwanted >> kind & 1) || refused(kWitnessOnlyUid, kWitnessExceptUid, uid) ||
         refused(kWitnessOnlyPid, kWitnessExceptPid, pid);
}

struct Rules {
  std::vector<const char*> only, except;
};

OpFilter filter_of(const Rules& rules) {
  OpFilter filter;
  for (const char* rule : rules.only) filter.only(rule);
  for (const char* rule : rules.except) filter.exclude(rule);
  return filter;
}

struct Scratch {
  std::string path = "/tmp/witness_scope.XXXXXX";
  Scratch() { REQUIRE(mkdtemp(path.data())); }
  ~Scratch() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("the kernel leaves out what the writer would leave out, where kind, user and process id decide") {
  const Rules all[] = {{{"uid=1000,5"}, {}},
                       {{}, {"uid=0"}},
                       {{"process=7"}, {"uid=5"}},
                       {{}, {"process=7,make"}},
                       {{"op=read,flush"}, {"process=8"}},
                       {{}, {"op=getattr,lookup,setlk"}},
                       {{"process=4294967303"}, {}}};
  for (const Rules& rules : all) {
    const OpFilter filter = filter_of(rules);
    const EarlyFilter early = early_filter(filter);
    INFO(filter.text());
    CHECK(bool(early));
    for (const auto& [record, kind] : {std::pair{kWitnessRead, OpKind::read},
                                       {kWitnessGetattr, OpKind::getattr},
                                       {kWitnessLookup, OpKind::lookup},
                                       {kWitnessSetlk, OpKind::setlk}})
      for (const uint32_t uid : {0, 5, 1000})
        for (const int32_t pid : {7, 8}) {
          const ThreadInfo who{.pid = pid, .command = "cat"};
          CHECK(left_out(early, record, uid, uint32_t(pid)) != filter.wants({.kind = kind, .uid = uid, .who = &who}));
        }
    for (const witness_kind kind : {kWitnessOpen, kWitnessCreate, kWitnessRelease, kWitnessRename, kWitnessMkdir, kWitnessPlace})
      CHECK_FALSE(left_out(early, kind, 0, 7));
  }
}

TEST_CASE("the kernel leaves out nothing that a command's name or a path decides") {
  CHECK_FALSE(bool(early_filter(filter_of({{"process=make"}, {}}))));
  CHECK_FALSE(bool(early_filter(filter_of({{"process=7,make"}, {"process=git"}}))));
  CHECK_FALSE(bool(early_filter(filter_of({{"path=src/*", "uid=5"}, {"op=read"}}))));
  CHECK_FALSE(bool(early_filter(OpFilter())));
}

TEST_CASE("what the kernel left out is counted by kind of operation") {
  std::array<uint64_t, kWitnessKinds> counts{};
  counts[kWitnessRead] = 3;
  counts[kWitnessGetlk] = 2;
  const auto by_kind = left_out_by_kind(counts);
  CHECK(by_kind[unsigned(OpKind::read)] == 3);
  CHECK(by_kind[unsigned(OpKind::getlk)] == 2);
  CHECK(by_kind[unsigned(OpKind::write)] == 0);
}

TEST_CASE("a pod or container is found by its id in names of control groups") {
  const Scratch top;
  const std::string long_id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  const std::string pod = top.path + "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11aa_22bb.slice";
  const std::string container = pod + "/cri-containerd-" + long_id + ".scope";
  const std::string podman = top.path + "/machine.slice/libpod-ffff" + long_id.substr(4) + ".scope";
  for (const std::string& path :
       {container, podman, top.path + "/machine.slice/libpod-conmon-ffff" + long_id.substr(4) + ".scope",
        top.path + "/docker/abc" + long_id.substr(3), top.path + "/system.slice/web.service"})
    std::filesystem::create_directories(path);
  auto found = [&](const std::string& name) { return pods_named(name, top.path); };
  using Paths = std::vector<std::string>;
  CHECK(found("11aa-22bb") == Paths{pod});
  CHECK(found("11aa_22bb") == Paths{pod});
  CHECK(found("pod11aa-22bb") == Paths{pod});
  CHECK(found(long_id.substr(0, 12)) == Paths{container});
  CHECK(found(long_id) == Paths{container});
  CHECK(found("ffff" + long_id.substr(4)) == Paths{podman});
  CHECK(found("abc" + long_id.substr(3, 9)) == Paths{top.path + "/docker/abc" + long_id.substr(3)});
  CHECK(found("web.service") == Paths{top.path + "/system.slice/web.service"});
  CHECK(found("0123").empty());
  CHECK(found("nobody").empty());
}

TEST_CASE("all processes are no control group") {
  CHECK_THROWS_WITH(cgroup_at(""), contains_text("--everywhere"));
  CHECK_THROWS_WITH(cgroup_of_pod(""), contains_text("--pod: expected"));
  for (const MountEntry& m : own_mounts())
    if (m.type == "cgroup2") {
      CHECK_THROWS_WITH(cgroup_at(m.point), contains_text("give --everywhere"));
      CHECK_THROWS_WITH(cgroup_at("/"), contains_text("--cgroup: /"));
    }
}

TEST_CASE("a control group has ended when another one has its path") {
  const Scratch top;
  const std::string path = top.path + "/web.service";
  std::filesystem::create_directory(path);
  const ChosenCgroup group{path, UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))};
  CHECK_FALSE(group.ended());
  std::filesystem::remove(path);
  CHECK(group.ended());
  std::filesystem::create_directory(path);
  CHECK(group.ended());
}

TEST_CASE("a capture of control groups misses names that others change") {
  TraceHeader header;
  TraceClosing closing;
  header.not_seen = closing.not_seen = {"cat 7", "mounted inside: /d/sub"};
  CHECK(unseen_names(header, &closing).empty());
  closing.not_seen.push_back("3" + std::string(kNamesChanged));
  CHECK(unseen_names(header, &closing) == "3 changes of names by others");
  header.not_seen.push_back(kNamesAcross);
  CHECK(unseen_names(header, nullptr) == kNamesAcross);
  header.not_seen.insert(header.not_seen.begin(), kNamesOfOthers);
  CHECK(unseen_names(header, &closing) == std::string(kNamesOfOthers) + ", " + kNamesAcross + ", 3 changes of names by others");
}

}  // namespace fsr::witness_scope_test
