// SPDX-License-Identifier: Apache-2.0
// FSDs and FWDs: trees of files, and the operations on them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/vdbench/language/keyword.hpp"

namespace fsr::vdbench {

namespace {

constexpr uint64_t kMostFileBytes = uint64_t(1) << 50, kMostInDirectory = 10'000'000;

void set_sizes(FileSystem& f, const Parameter& p) {
  f.sizes.clear();
  if (p.values.size() == 1) {
    f.sizes = {{whole(p, 0, kMostFileBytes), 100}};
    return;
  }
  double total = 0;
  for (size_t i = 0; i < p.values.size(); i += 2) {
    if (i + 1 == p.values.size()) throw ParameterError(p.values[i].position, "expected a percentage after each size");
    f.sizes.push_back({whole(p.values[i], 0, kMostFileBytes), double(whole(p.values[i + 1], 0, 100))});
    total += f.sizes.back().second;
  }
  if (total == 0 && f.sizes.size() == 1) {
    if (f.sizes[0].first < 1024 || f.sizes[0].first > INT32_MAX)
      throw ParameterError(p.values[0].position, "expected a mean size from 1k to 2047m");
  } else if (total != 100) {
    throw ParameterError(p.position, "the percentages add up to {:g}, expected 100", total);
  }
}

void set_part(uint64_t& bytes, bool& percent, const Parameter& p) {
  const Number n = number(single(p));
  percent = n.percent;
  if (n.value < 1 || (percent ? n.value > 100 : n.value > double(kMostFileBytes)))
    throw ParameterError(p.values[0].position, "expected bytes, or a percentage up to 100%");
  bytes = uint64_t(n.value);
}

// Checks and returns a format of printf with one number.
std::string mask(const Value& value) {
  size_t at = value.text.find('%'), numbers = 0;
  for (; at != std::string::npos; at = value.text.find('%', at + 1)) {
    const size_t end = value.text.find_first_not_of("0123456789", at + 1);
    if (end == std::string::npos || value.text[end] != 'd' || end - at > 3)
      throw ParameterError(value.position, "expected numbers as %d or %04d");
    ++numbers;
  }
  if (numbers == 0 || value.text.find('/') != std::string::npos || !value.text.starts_with("vdb"))
    throw ParameterError(value.position, "expected a name that begins with vdb and holds numbers as %d or %04d");
  return value.text;
}

void set_mask(FileSystem& f, const Parameter& p) {
  if (p.values.size() > 2) throw ParameterError(p.values[2].position, "expected mask=(FILE,DIRECTORY)");
  if (!same_word(p.values[0].text, "default")) f.file_mask = mask(p.values[0]);
  if (p.values.size() == 2 && !same_word(p.values[1].text, "default")) f.directory_mask = mask(p.values[1]);
}

void set_total(FileSystem& f, const Parameter& p) { set_part(f.total, f.total_percent, p); }
void set_working_set(FileSystem& f, const Parameter& p) { set_part(f.working_set, f.working_set_percent, p); }

const Keyword<FileSystem> kFileSystem[] = {
    {"anchor", [](FileSystem& f, const Parameter& p) { f.anchor = single(p).text; }},
    {"journal", [](FileSystem& f, const Parameter& p) { f.journal = single(p).text; }},
    {"width", [](FileSystem& f, const Parameter& p) { f.width = whole(p, 1, 10'000'000); }},
    // 5.04 makes one level of directories for 0, too.
    {"depth", [](FileSystem& f, const Parameter& p) { f.depth = std::max<uint64_t>(whole(p, 0, 64), 1); }},
    {"sizes", set_sizes},
    {"shared", [](FileSystem& f, const Parameter& p) { f.shared = yes_or_no(p); }},
    {"wss workingsetsize", set_working_set},
    {"totalsize total_size", set_total},
    {"files", [](FileSystem& f, const Parameter& p) { f.files = whole(p, 1, kMostInDirectory); }},
    {"distribution",
     [](FileSystem& f, const Parameter& p) {
       f.all_directories = one_of(single(p), {"bottom", "all"}) == 1;
     }},
    {"cleanup", [](FileSystem&, const Parameter& p) { single(p); }},
    {"openflags", [](FileSystem& f, const Parameter& p) { f.flags = open_flags(p); }},
    {"log", nullptr, kShown},
    {"mask", set_mask},
    {"dedupratio dedupsets deduphotsets dedupflipflop", add_content<FileSystem>},
    {"dedupunit", nullptr, kForAll},
};

void set_file_io(FileWorkload& w, const Parameter& p) {
  w.random_io = w.shared = w.starts_anywhere = w.deletes_first = false;
  for (const Value& value : p.values) {
    const std::string& text = value.text;
    if (text.size() >= 3 && begins_word("random", text))
      w.random_io = true;
    else if (same_word(text, "sequentialnz") || same_word(text, "seqnz"))
      w.starts_anywhere = true;
    else if (text.size() >= 3 && begins_word("sequential", text))
      w.random_io = false;
    else if (same_word(text, "shared"))
      w.shared = true;
    else if (same_word(text, "delete"))
      w.deletes_first = true;
    else
      throw ParameterError(value.position, "'{}' is not known here, expected random, sequential, sequentialnz, shared or delete",
                           text);
  }
  if (w.shared && !w.random_io) throw ParameterError(p.position, "expected random with shared");
  if (w.deletes_first && w.random_io) throw ParameterError(p.position, "expected sequential with delete");
}

void set_file_select(FileWorkload& w, const Parameter& p) {
  w.random_files = w.once = w.starts_at_any_file = false;
  w.midpoint = 0;
  for (size_t i = 0; i < p.values.size(); ++i) {
    const Value& value = p.values[i];
    const std::string& text = value.text;
    if (same_word(text, "once"))
      w.once = true;
    else if (same_word(text, "poisson") || same_word(text, "skewed"))
      w.random_files = true, w.midpoint = 3;
    else if (begins_word(text, "midpoint="))
      w.midpoint = number({text.substr(9), value.position}).value;
    else if (w.midpoint > 0 && i == 1 && text.find_first_not_of("0123456789.") == std::string::npos)
      w.midpoint = number(value).value;
    else if (same_word(text, "sequentialnz") || same_word(text, "seqnz"))
      w.starts_at_any_file = true;
    else if (text.size() >= 3 && begins_word("random", text))
      w.random_files = true;
    else if (text.size() < 3 || !begins_word("sequential", text))
      throw ParameterError(value.position, "'{}' is not known here, expected random, sequential, sequentialnz, poisson or once",
                           text);
  }
  if (w.random_files && w.midpoint < 0) throw ParameterError(p.position, "expected a midpoint above 0");
}

void set_stop_after(FileWorkload& w, const Parameter& p) {
  const Number n = number(single(p));
  if (n.value < 1 || n.value != std::floor(n.value) || n.value > 1e15)
    throw ParameterError(p.values[0].position, "expected a whole number of blocks from 1 on, or of percent");
  w.stop_after = uint64_t(n.value);
  w.stop_after_percent = n.percent;
}

void set_transfers(FileWorkload& w, const Parameter& p) {
  w.transfers = transfer_sizes(p, 1);
  if (w.transfers.align) throw ParameterError(p.position, "expected a size, or sizes with their percentages");
}

const Keyword<FileWorkload> kFileWorkload[] = {
    {"readpct rdpct", [](FileWorkload& w, const Parameter& p) { w.read_percent = within(p, 0, 100); }},
    {"stopafter", set_stop_after},
    {"operation", [](FileWorkload& w, const Parameter& p) { w.operation = operation_of(single(p)); }},
    {"fileselect", set_file_select},
    {"fileio", set_file_io},
    {"xfersizes xfersize", set_transfers},
    {"skew", [](FileWorkload& w, const Parameter& p) { w.skew = within(p, 0, 100); }},
    {"threads", [](FileWorkload& w, const Parameter& p) { w.threads = unsigned(whole(p, 1, 100'000)); }},
    {"openflags", [](FileWorkload& w, const Parameter& p) { w.flags = open_flags(p); }},
};

}  // namespace

std::span<const Keyword<FileSystem>> file_system_keywords() { return kFileSystem; }
std::span<const Keyword<FileWorkload>> file_workload_keywords() { return kFileWorkload; }

}  // namespace fsr::vdbench
