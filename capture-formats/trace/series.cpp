// SPDX-License-Identifier: Apache-2.0
#include "series.hpp"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace fsr {

namespace {

constexpr std::string_view kSuffix = ".zst";

std::string stem_of(const std::string& series) {
  return series.ends_with(kSuffix) ? series.substr(0, series.size() - kSuffix.size()) : series;
}

// "0003.zst" of "web.0003.zst".
bool is_piece_suffix(std::string_view text) {
  if (!text.ends_with(kSuffix)) return false;
  text.remove_suffix(kSuffix.size());
  return text.size() >= 4 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string> pieces_of(const std::string& series) {
  const std::string stem = stem_of(series) + ".";
  const size_t slash = stem.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "" : stem.substr(0, slash + 1);
  const std::string base = stem.substr(folder.size());
  std::vector<std::string> found;
  DIR* dir = opendir(folder.empty() ? "." : folder.c_str());
  if (!dir) return found;
  while (dirent* e = readdir(dir)) {
    std::string_view name = e->d_name;
    if (name.starts_with(base) && is_piece_suffix(name.substr(base.size()))) found.push_back(folder + std::string(name));
  }
  closedir(dir);
  std::sort(found.begin(), found.end());
  return found;
}

struct Piece {
  std::unique_ptr<InputFile> file;
  TraceLayout layout;
  unsigned number() const { return layout.header.piece; }
};

[[noreturn]] void fail(const Piece& piece, const std::string& why) { throw std::runtime_error(piece.file->name() + ": " + why); }

void add_closing(TraceClosing& sum, const TraceClosing& next) {
  const TraceClosing before = sum;
  sum = next;
  sum.clean = before.clean && next.clean;
  if (!before.clean) sum.reason = before.reason;
  sum.operations += before.operations;
  sum.dropped += before.dropped;
  sum.dropped_spans.insert(sum.dropped_spans.begin(), before.dropped_spans.begin(), before.dropped_spans.end());
  sum.waited += before.waited;
  sum.out_of_order += before.out_of_order;
  for (unsigned i = 0; i < kOpKinds; ++i) {
    sum.by_kind[i] += before.by_kind[i];
    sum.filtered[i] += before.filtered[i];
  }
}

// Checks that nothing is missing between two consecutive pieces.
void check_joint(const Piece& before, const Piece& after, TraceLayout& all) {
  const uint64_t seq = all.blocks.empty() ? 0 : all.blocks.back().first_seq + all.blocks.back().ops;
  const uint64_t next = after.layout.blocks.empty() ? seq : after.layout.blocks.front().first_seq;
  if (!all.blocks.empty() && next < seq) fail(after, "does not continue " + before.file->name());
  const unsigned first = before.number() + 1, last = after.number() - 1;
  std::string what;
  if (first == last)
    what = "piece " + std::to_string(first) + " is missing";
  else if (first < last)
    what = "pieces " + std::to_string(first) + " to " + std::to_string(last) + " are missing";
  else if (next != seq && before.layout.has_closing)
    what = std::to_string(next - seq) + " operations are missing before " + after.file->name();
  if (what.empty()) return;
  auto time = [&](const TraceLayout& layout, bool back) -> int64_t {
    if (layout.blocks.empty()) return 0;
    const IndexEntry& e = back ? layout.blocks.back() : layout.blocks.front();
    return trace_ns(back ? e.last_start : e.first_start, layout.header.clock_unit);
  };
  all.damage.push_back({.from = time(before.layout, true), .to = time(after.layout, false), .what = what});
}

// A piece that was rotated has a successor.
void check_last(const Piece& last, uint32_t clock_unit, TraceLayout& all) {
  if (!last.layout.has_closing || last.layout.closing.reason != kRotated) return;
  const int64_t from = all.blocks.empty() ? 0 : trace_ns(all.blocks.back().last_start, clock_unit);
  all.damage.push_back(
      {.from = from, .to = -1, .what = "the pieces after piece " + std::to_string(last.number()) + " are missing"});
}

}  // namespace

std::string piece_name(const std::string& series, unsigned piece) {
  char number[16];
  snprintf(number, sizeof number, ".%04u", piece);
  return stem_of(series) + number + std::string(kSuffix);
}

static bool is_pattern(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

bool names_series(const std::string& name) {
  struct stat s;
  return name != "-" && !is_pattern(name) && stat(name.c_str(), &s) != 0;
}

std::vector<std::string> series_files(const std::string& name) {
  struct stat s;
  if (name == "-" || stat(name.c_str(), &s) == 0) return {name};
  if (is_pattern(name)) {
    std::vector<std::string> found;
    glob_t matches = {};
    if (glob(name.c_str(), 0, nullptr, &matches) == 0) found.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    globfree(&matches);
    if (!found.empty()) return found;
  }
  std::vector<std::string> pieces = pieces_of(name);
  return pieces.empty() ? std::vector<std::string>{name} : pieces;
}

std::string file_prefix(const InputFiles& files, size_t file) { return files.size() > 1 ? files[file]->name() + ": " : ""; }

TraceLayout find_series_layout(InputFiles& files, bool series) {
  if (files.empty()) throw std::runtime_error("no trace given");
  if (files.size() == 1 && !series) return find_layout(*files[0]);
  if (files.size() > UINT16_MAX) throw std::runtime_error("a series of more than 65535 pieces");
  std::vector<Piece> pieces;
  for (auto& file : files) {
    TraceLayout layout = find_layout(*file);
    pieces.push_back({std::move(file), std::move(layout)});
    if (pieces.back().layout.header.id.empty()) fail(pieces.back(), "has lost its header and can't be placed in a series");
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.number() < b.number(); });
  TraceLayout all;
  all.header = pieces[0].layout.header;
  all.closing.clean = all.has_closing = true;
  for (size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    const TraceHeader& header = piece.layout.header;
    if (header.id != all.header.id) fail(piece, "belongs to another capture than " + pieces[0].file->name());
    if (header.clock_unit != all.header.clock_unit) fail(piece, "has another clock unit than " + pieces[0].file->name());
    if (i && header.piece == pieces[i - 1].number())
      fail(piece, "is piece " + std::to_string(header.piece) + ", and so is " + pieces[i - 1].file->name());
    if (i) check_joint(pieces[i - 1], piece, all);
    for (IndexEntry& e : piece.layout.blocks) {
      e.file = uint16_t(i);
      all.blocks.push_back(e);
    }
    for (TraceDamage& d : piece.layout.damage) {
      d.what = piece.file->name() + ": " + d.what;
      all.damage.push_back(std::move(d));
    }
    all.has_closing &= piece.layout.has_closing;
    if (piece.layout.has_closing) add_closing(all.closing, piece.layout.closing);
  }
  if (series) check_last(pieces.back(), all.header.clock_unit, all);
  for (size_t i = 0; i < pieces.size(); ++i) files[i] = std::move(pieces[i].file);
  return all;
}

}  // namespace fsr
