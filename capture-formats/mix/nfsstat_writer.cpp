// SPDX-License-Identifier: Apache-2.0
#include "mix/nfsstat_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "mix/op_procedures.hpp"
#include "mix/procedures.hpp"

namespace fsr {

namespace {

using Out = std::back_insert_iterator<std::string>;

uint64_t sum(std::span<const uint64_t> calls) {
  uint64_t total = 0;
  for (uint64_t n : calls) total += n;
  return total;
}

// Truncated, as every nfsstat does.
unsigned percent_of(uint64_t n, uint64_t total) { return total == 0 ? 0 : unsigned(double(n) / double(total) * 100 + 1e-9); }

// Rows of five names in 17 columns each, above the counts in 8 and their share in 3.
void linux_block(Out out, std::string_view title, std::span<const std::string_view> names, std::span<const uint64_t> calls) {
  constexpr size_t kPerRow = 5;
  const uint64_t total = sum(calls);
  fmt::format_to(out, "{}:\n", title);
  for (size_t row = 0; row < names.size(); row += kPerRow) {
    const size_t end = std::min(row + kPerRow, names.size());
    for (size_t i = row; i < end; ++i) fmt::format_to(out, "{:<17}", names[i]);
    fmt::format_to(out, "\n");
    for (size_t i = row; i < end; ++i) {
      const unsigned percent = percent_of(calls[i], total);
      // nfsstat itself would print 12345678 calls of 100 % as one number; a blank keeps them apart.
      const bool glued = calls[i] >= 10'000'000 && percent == 100;
      fmt::format_to(out, "{:<8}{}{:>3}%     ", calls[i], glued ? " " : "", percent);
    }
    fmt::format_to(out, "\n");
  }
  fmt::format_to(out, "\n");
}

}  // namespace

std::string linux_nfsstat_text(unsigned version, std::span<const uint64_t> calls, uint64_t compounds) {
  std::string text;
  auto out = std::back_inserter(text);
  const uint64_t rpcs = version == 4 ? compounds : sum(calls);
  fmt::format_to(out, "Server rpc stats:\ncalls      badcalls   badfmt     badauth    badclnt\n");
  fmt::format_to(out, "{:<8}   {:<8}   {:<8}   {:<8}   {:<8}\n\n", rpcs, 0, 0, 0, 0);
  std::vector<std::string_view> names;
  if (version != 4) {
    for (const char* name : nfs_procedures(version)) names.emplace_back(name);
    linux_block(out, fmt::format("Server nfs v{}", version), names, calls);
    return text;
  }
  linux_block(out, "Server nfs v4", std::vector<std::string_view>{"null", "compound"}, std::vector<uint64_t>{0, compounds});
  names = {"op0-unused", "op1-unused", "op2-future"};
  std::vector<uint64_t> counts(kNfs4FirstOperation);
  for (size_t i = 0; i < calls.size(); ++i) {
    names.push_back(nfs4_linux_name(i));
    counts.push_back(calls[i]);
  }
  linux_block(out, "Server nfs v4 operations", names, counts);
  return text;
}

std::string sunos_nfsstat_text(std::span<const uint64_t> calls) {
  std::string text;
  auto out = std::back_inserter(text);
  const uint64_t total = sum(calls);
  const auto names = nfs_procedures(2);
  // A cell is never filled, so that a blank keeps what follows apart: the original splits at blanks in the line of totals.
  fmt::format_to(out, "\nServer rpc:\n{:<11}{:<11}{:<11}{:<11}{:<11}\n", "calls", "badcalls", "nullrecv", "badlen", "xdrcall");
  fmt::format_to(out, "{:<10} {:<11}{:<11}{:<11}{:<11}\n\nServer nfs:\n{:<11}{}\n{:<10} {:<11}\n", total, 0, 0, 0, 0, "calls",
                 "badcalls", total, 0);
  for (auto [row, end] : {std::pair<size_t, size_t>{0, 7}, {7, 14}, {14, 18}}) {
    for (size_t i = row; i < end; ++i) fmt::format_to(out, "{:<11}", names[i]);
    fmt::format_to(out, "\n");
    for (size_t i = row; i < end; ++i)
      fmt::format_to(out, "{:<11}", fmt::format("{} {:2}% ", calls[i], percent_of(calls[i], total)));
    fmt::format_to(out, "\n");
  }
  return text;
}

std::string nfsstat_text(const std::array<uint64_t, kOpKinds>& counts) {
  std::vector<uint64_t> calls(nfs_procedures(3).size());
  for (unsigned kind = 0; kind < kOpKinds; ++kind)
    if (const int procedure = nfs_procedure_of(3, OpKind(kind)); procedure >= 0) calls[size_t(procedure)] += counts[kind];
  return linux_nfsstat_text(3, calls);
}

}  // namespace fsr
