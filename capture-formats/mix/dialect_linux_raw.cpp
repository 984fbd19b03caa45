// SPDX-License-Identifier: Apache-2.0
// /proc/net/rpc/nfsd (server) and /proc/net/rpc/nfs (client): "proc3 22 40 26000 ...", the number of counters before the
// counters.
#include <fmt/format.h>

#include <algorithm>

#include "mix/dialect.hpp"

namespace fsr::mix {

namespace {

constexpr std::string_view kRawHeads[] = {"proc2 ", "proc3 ", "proc4 "};

// The client's COMPOUNDs of version 4 (enum NFSPROC4_CLNT_* in include/linux/nfs4.h; new ones are appended).
constexpr const char* kClient4[] = {"null",
                                    "read",
                                    "write",
                                    "commit",
                                    "open",
                                    "open_conf",
                                    "open_noat",
                                    "open_dgrd",
                                    "close",
                                    "setattr",
                                    "fsinfo",
                                    "renew",
                                    "setclntid",
                                    "confirm",
                                    "lock",
                                    "lockt",
                                    "locku",
                                    "access",
                                    "getattr",
                                    "lookup",
                                    "lookup_root",
                                    "remove",
                                    "rename",
                                    "link",
                                    "symlink",
                                    "create",
                                    "pathconf",
                                    "statfs",
                                    "readlink",
                                    "readdir",
                                    "server_caps",
                                    "delegreturn",
                                    "getacl",
                                    "setacl",
                                    "fs_locations",
                                    "rel_lkowner",
                                    "secinfo",
                                    "fsid_present",
                                    "exchange_id",
                                    "create_session",
                                    "destroy_session",
                                    "sequence",
                                    "get_lease_time",
                                    "reclaim_comp",
                                    "layoutget",
                                    "getdevinfo",
                                    "layoutcommit",
                                    "layoutreturn",
                                    "secinfo_no",
                                    "test_stateid",
                                    "free_stateid",
                                    "getdevicelist",
                                    "bind_conn_to_ses",
                                    "destroy_clientid",
                                    "seek",
                                    "allocate",
                                    "deallocate",
                                    "layoutstats",
                                    "clone",
                                    "copy",
                                    "offload_cancel",
                                    "lookupp",
                                    "layouterror",
                                    "copy_notify",
                                    "getxattr",
                                    "setxattr",
                                    "listxattrs",
                                    "removexattr",
                                    "read_plus"};
static_assert(std::size(kClient4) == 69);
// Before Linux 3.14 fsid_present was missing in the middle, before 3.x others; up to here the order has always been the same.
constexpr size_t kClient4Stable = 35;
constexpr size_t kClient4Complete = 54;

bool is_linux_raw(std::string_view text) {
  static constexpr std::string_view kFirst[] = {"rc ", "net ", "rpc ", "fh ", "io ", "th ", "ra ", "proc2 ", "proc3 ", "proc4 "};
  const std::string_view first = text.substr(0, text.find('\n'));
  return any_line_begins(first, kFirst) && any_line_begins(text, kRawHeads);
}

// Returns the procedure of counter `i` of `count`, which its position decides.
std::string name_of(unsigned version, bool client, size_t count, size_t i) {
  if (version == 4 && client) {
    if (i < std::size(kClient4) && (i < kClient4Stable || count >= kClient4Complete)) return kClient4[i];
    return fmt::format("counter {} of {}", i, count);
  }
  const auto names = nfs_procedures(version);
  const size_t first = version == 4 ? kNfs4FirstOperation : 0;
  if (i >= first && i - first < names.size()) return names[i - first];
  return fmt::format("{} {}", version == 4 ? "operation" : "procedure", i);
}

std::vector<Block> parse_linux_raw(const Lines& lines) {
  // The server's file alone has the reply cache's, threads' or file handles' line.
  static constexpr std::string_view kServerLines[] = {"rc ", "fh ", "th ", "io ", "proc4ops "};
  const bool client = !any_line_begins(lines.text(), kServerLines);
  std::vector<Block> blocks;
  uint64_t compounds = 0;
  for (size_t at = 0; at < lines.size(); ++at) {
    const auto list = words(lines[at]);
    if (list.empty() || !list[0].starts_with("proc") || list[0].size() < 5) continue;
    const bool operations = list[0] == "proc4ops";
    const unsigned version = unsigned(list[0][4] - '0');
    if ((list[0].size() > 5 && !operations) || version < 2 || version > 4) continue;
    std::vector<uint64_t> counts(list.size() - 1);
    for (size_t i = 0; i < counts.size(); ++i)
      if (!parse_number(list[i + 1], &counts[i]))
        lines.fail(at, fmt::format("expected a count, found '{}'", list[i + 1].substr(0, 40)));
    if (counts.empty()) lines.fail(at, fmt::format("expected the number of counts after '{}'", list[0]));
    if (counts[0] != counts.size() - 1)
      lines.fail(
          at, fmt::format("expected {} counts, as the number after '{}' says, found {}", counts[0], list[0], counts.size() - 1));
    counts.erase(counts.begin());
    if (version == 4 && !client && !operations) {
      if (counts.size() > 1) compounds = counts[1];
      continue;
    }
    const size_t least = nfs_procedures(version).size();
    if (version < 4 && counts.size() < least)
      lines.fail(at, fmt::format("expected {} counts or more, one for each procedure of NFSv{}, found {}", least, version,
                                 counts.size()));
    Block block(version, client, client ? "/proc/net/rpc/nfs" : "/proc/net/rpc/nfsd", at);
    for (size_t i = 0; i < counts.size(); ++i) block.add(name_of(version, client, counts.size(), i), counts[i], lines, at);
    blocks.push_back(std::move(block));
  }
  for (Block& block : blocks)
    if (block.nfs_version == 4 && !client && compounds > 0) block.rank = compounds;
  return blocks;
}

}  // namespace

const Dialect kLinuxRaw{"raw /proc/net/rpc", is_linux_raw, parse_linux_raw};

}  // namespace fsr::mix
