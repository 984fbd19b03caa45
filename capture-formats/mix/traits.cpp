// SPDX-License-Identifier: Apache-2.0
#include "mix/traits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>

#include "mix/dialect.hpp"

namespace fsr {

namespace {

constexpr size_t kMostSizes = 4096;  // of a list; a Histogram of such sizes has fewer buckets
constexpr size_t kLineWidth = 110;

TransferTraits traits_of(const TraitCounts::Transfers& counts) {
  TransferTraits traits{.sequential = counts.share(), .sequential_sizes = {}, .sizes = {}};
  for (int sequential : {0, 1})
    counts.sizes[size_t(sequential)].each_bucket([&](int64_t low, int64_t, uint64_t count) {
      (sequential ? traits.sequential_sizes : traits.sizes).push_back({uint64_t(low), double(count)});
    });
  return traits;
}

void put_sizes(std::string& text, std::string_view what, std::string_view which, const std::vector<SizeWeight>& sizes) {
  std::string line;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (line.empty()) line = fmt::format("{} {} sizes {}", kTraitMark, what, which);
    fmt::format_to(std::back_inserter(line), " {}:{}", sizes[i].bytes, sizes[i].weight);
    if (line.size() < kLineWidth && i + 1 < sizes.size()) continue;
    text += line + '\n';
    line.clear();
  }
}

void put_transfers(std::string& text, std::string_view what, const TransferTraits& traits) {
  if (!traits.known()) return;
  fmt::format_to(std::back_inserter(text), "{} {} sequential {:.3f} %\n", kTraitMark, what, traits.sequential * 100);
  put_sizes(text, what, "sequential", traits.sequential_sizes);
  put_sizes(text, what, "other", traits.sizes);
}

bool parse_share(std::string_view number, double* share) {
  double percent = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  if (error != std::errc() || end != number.data() + number.size() || !(percent >= 0 && percent <= 100)) return false;
  *share = percent / 100;
  return true;
}

// "4096:120".
bool parse_size(std::string_view word, SizeWeight* size) {
  const size_t colon = word.find(':');
  if (colon == word.npos || !mix::parse_number(word.substr(0, colon), &size->bytes) || size->bytes > kMostMixTransfer)
    return false;
  const std::string_view weight = word.substr(colon + 1);
  const auto [end, error] = std::from_chars(weight.data(), weight.data() + weight.size(), size->weight);
  return error == std::errc() && end == weight.data() + weight.size() && size->weight > 0 && size->weight < 1e18;
}

}  // namespace

void TraitCounts::add(const Op& op) {
  if (op.has(kOpUnfinished)) return;
  if (op.kind == OpKind::release) positions_.close(op.handle);
  if (op.kind == OpKind::lookup) {
    ++lookups;
    failed_lookups += op.error == ENOENT;
  }
  if (op.kind != OpKind::read && op.kind != OpKind::write) return;
  Transfers& to = op.kind == OpKind::read ? reads : writes;
  const bool sequential = positions_.move(op) == Positions::Access::sequential;
  ++to.count;
  to.sequential += sequential;
  if (!op.error && (op.result || op.kind == OpKind::read))
    to.sizes[sequential].add(int64_t(std::min(op.result, kMostMixTransfer)));
}

MixTraits TraitCounts::traits() const {
  MixTraits traits;
  if (lookups) traits.failed_lookups = lookup_share();
  traits.reads = traits_of(reads);
  traits.writes = traits_of(writes);
  return traits;
}

std::string traits_words(const MixTraits& traits) {
  std::string text;
  auto add = [&](double share, const char* what) {
    fmt::format_to(std::back_inserter(text), "{}{:.1f} % of {}", text.empty() ? "" : ", ", share * 100, what);
  };
  if (traits.failed_lookups) add(*traits.failed_lookups, "lookups find no such name");
  if (traits.reads.known()) add(traits.reads.sequential, "reads are sequential");
  if (traits.writes.known()) add(traits.writes.sequential, "writes are sequential");
  return text;
}

std::string traits_text(const MixTraits& traits) {
  std::string text;
  if (traits.failed_lookups)
    fmt::format_to(std::back_inserter(text), "{} lookup failed {:.3f} %\n", kTraitMark, *traits.failed_lookups * 100);
  put_transfers(text, "read", traits.reads);
  put_transfers(text, "write", traits.writes);
  return text;
}

std::string add_trait(std::string_view line, MixTraits* traits) {
  const auto words = mix::words(line.substr(kTraitMark.size()));
  auto begins_with = [&](std::initializer_list<std::string_view> wanted) {
    return words.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), words.begin());
  };
  double share = 0;
  const bool is_share = words.size() == 4 && words[3] == "%" && parse_share(words[2], &share);
  if (begins_with({"lookup", "failed"})) {
    if (!is_share) return "expected 'lookup failed', followed by a share from 0 to 100 %";
    traits->failed_lookups = share;
    return {};
  }
  if (!begins_with({"read"}) && !begins_with({"write"}))
    return "expected 'lookup', 'read' or 'write' after '# fsreplay:', found '" +
           std::string(words.empty() ? "" : words[0].substr(0, 40)) + "'";
  TransferTraits& of = words[0] == "read" ? traits->reads : traits->writes;
  if (words.size() > 1 && words[1] == "sequential") {
    if (!is_share) return "expected 'sequential', followed by a share from 0 to 100 %";
    of.sequential = share;
    return {};
  }
  constexpr const char* kExpected = "expected 'sizes sequential' or 'sizes other', and BYTES:WEIGHT up to 1048576 bytes";
  if (words.size() < 4 || words[1] != "sizes" || (words[2] != "sequential" && words[2] != "other")) return kExpected;
  std::vector<SizeWeight>& sizes = words[2] == "sequential" ? of.sequential_sizes : of.sizes;
  for (size_t i = 3; i < words.size(); ++i) {
    if (!parse_size(words[i], &sizes.emplace_back())) return kExpected;
    if (sizes.size() > kMostSizes) return fmt::format("expected at most {} sizes", kMostSizes);
  }
  return {};
}

}  // namespace fsr
