// SPDX-License-Identifier: Apache-2.0
#include "layout.hpp"

#include <algorithm>
#include <stdexcept>

#include "header_text.hpp"
#include "mix/mix.hpp"

namespace fsr {

constexpr size_t kWindow = 1 << 20;  // bytes looked through at once

[[noreturn]] static void refuse(InputFile& file) {
  constexpr size_t kLook = 4096;
  const char* what = sniff_mix(file.at(0, std::min<uint64_t>(kLook, file.size())))
                         ? "a mixfile, not a trace (to run it: fsreplay FILE TARGET)"
                         : "not a trace (no fsshim header at the start; decompressing a trace loses the header)";
  throw std::runtime_error(file.name() + ": " + what);
}

// False: there is a header, and it is damaged.
static bool read_header(InputFile& file, TraceLayout* out, uint64_t* end) {
  uint64_t length = section_length(file.at(0, kSectionOverhead));
  if (!length || !looks_like_trace(file.at(0, kSectionOverhead))) refuse(file);
  if (length > file.size()) throw std::runtime_error(file.name() + ": truncated within the header, nothing can be read");
  *end = kSectionOverhead;
  auto section = parse_section(file.at(0, length));
  if (!section) return false;
  *end = length;
  if (section->version > kTraceVersion)
    throw std::runtime_error(file.name() + ": trace format version " + std::to_string(section->version) +
                             ", but this program reads versions up to " + std::to_string(kTraceVersion) +
                             "; use a newer program");
  return decode_header(section->body, &out->header);
}

static bool read_index(InputFile& file, TraceLayout* out) {
  std::string_view tail = file.at(file.size() - std::min<uint64_t>(file.size(), kTail), kTail);
  if (tail.size() < kTail || tail.substr(8) != kEndMark) return false;
  uint64_t at = ByteReader(tail).u64();
  uint64_t length = section_length(file.at(at, kSectionOverhead));
  if (!length || length > file.size() - at) return false;
  auto section = parse_section(file.at(at, length));
  if (!section || section->type != SectionType::index) return false;
  auto blocks = decode_index(section->body, at);
  if (!blocks) return false;
  uint64_t closing_at = at + length;
  uint64_t closing_length = section_length(file.at(closing_at, kSectionOverhead));
  if (!closing_length || closing_length != file.size() - closing_at) return false;
  section = parse_section(file.at(closing_at, closing_length));
  if (!section || section->type != SectionType::closing || !decode_closing(section->body, &out->closing)) return false;
  out->blocks = std::move(*blocks);
  out->has_closing = true;
  return true;
}

// The first offset at or after `from` where a whole section of the kinds that follow a header stands; the file's size if none.
static uint64_t find_section(InputFile& file, uint64_t from, uint64_t* budget) {
  for (uint64_t at = from; at < file.size();) {
    std::string_view window = file.at(at, kWindow);
    std::vector<uint64_t> candidates;
    for (size_t i = window.find("fsrT"); i != std::string_view::npos; i = window.find("fsrT", i + 1))
      if (i >= 8 && section_length(window.substr(i - 8))) candidates.push_back(at + i - 8);
    const uint64_t got = window.size();
    for (uint64_t c : candidates) {
      uint64_t length = section_length(file.at(c, kSectionOverhead));
      // Made-up sections of great length must not make the search quadratic.
      if (length > file.size() - c || length > *budget) continue;
      *budget -= length;
      if (parse_section(file.at(c, length))) return c;
    }
    if (got < kWindow) break;
    at += got - kSectionOverhead;
  }
  return file.size();
}

static void walk(InputFile& file, uint64_t at, TraceLayout* out) {
  uint64_t budget = file.size() * 4 + (1 << 20);
  auto ns = [&](int64_t units) { return trace_ns(units, out->header.clock_unit); };
  auto last_start = [&] { return out->blocks.empty() ? 0 : ns(out->blocks.back().last_start); };
  auto damaged = [&](uint64_t from, uint64_t to, const std::string& what) {
    out->damage.push_back({.file_offset = from, .file_bytes = to - from, .from = last_start(), .to = -1, .what = what});
  };
  size_t open_damage = SIZE_MAX;  // the last one, while its end in time is unknown
  while (at < file.size()) {
    uint64_t length = section_length(file.at(at, kSectionOverhead));
    std::optional<Section> section;
    if (length && length <= file.size() - at) section = parse_section(file.at(at, length));
    if (section && section->type == SectionType::closing) {
      out->has_closing = decode_closing(section->body, &out->closing);
      at += length;
      continue;
    }
    if (section && section->type != SectionType::block) {
      at += length;  // an index that can't be trusted, or a header in the middle of concatenated traces
      continue;
    }
    auto header = section ? parse_block_header(section->body) : std::nullopt;
    const uint64_t seq = out->blocks.empty() ? 0 : out->blocks.back().first_seq + out->blocks.back().ops;
    if (header && length == kBlockHeaderSize && header->first_seq >= seq) {
      uint64_t bytes = length + header->compressed_bytes;
      if (bytes > file.size() - at) {
        damaged(at, file.size(), "block " + std::to_string(header->number) + ": truncated");
        out->damage.back().from = ns(header->first_start);
        return;
      }
      if (open_damage != SIZE_MAX) out->damage[open_damage].to = ns(header->first_start);
      open_damage = SIZE_MAX;
      out->blocks.push_back(index_entry(*header, at));
      at += bytes;
      continue;
    }
    uint64_t next = find_section(file, at + 1, &budget);
    std::string what = next == file.size() ? "truncated within a block" : "damaged, skipped to the next block";
    if (!out->blocks.empty()) what = "after block " + std::to_string(out->blocks.back().number) + ": " + what;
    damaged(at, next, what);
    open_damage = out->damage.size() - 1;
    at = next;
  }
}

// The clock unit, which every block restates, is all of a header that the operations need.
static void do_without_header(InputFile& file, uint64_t from, TraceLayout* out) {
  out->header = {};
  out->damage.push_back({.file_bytes = from,
                         .from = 0,
                         .to = 0,
                         .what = "the header is damaged; host, directory and time of the capture are lost"});
  uint64_t budget = file.size() * 4 + (1 << 20);
  for (uint64_t at = find_section(file, from, &budget); at < file.size(); at = find_section(file, at + 1, &budget)) {
    auto section = parse_section(file.at(at, kBlockHeaderSize));
    auto header = section && section->type == SectionType::block ? parse_block_header(section->body) : std::nullopt;
    if (!header) continue;
    out->header.clock_unit = header->clock_unit;
    return;
  }
}

TraceLayout find_layout(InputFile& file) {
  TraceLayout layout;
  uint64_t at = 0;
  if (!read_header(file, &layout, &at)) {
    do_without_header(file, at, &layout);
    uint64_t budget = file.size() * 4 + (1 << 20);
    at = find_section(file, at, &budget);
  }
  if (!read_index(file, &layout)) {
    walk(file, at, &layout);
    layout.damage.push_back(
        {.file_offset = file.size(),
         .from = layout.blocks.empty() ? 0 : trace_ns(layout.blocks.back().last_start, layout.header.clock_unit),
         .to = -1,
         .what = layout.has_closing ? "index missing or damaged" : "truncated: closing statement missing"});
  }
  return layout;
}

bool looks_like_trace(std::string_view first_bytes) {
  return section_length(first_bytes) && first_bytes[12] == char(SectionType::header);
}

}  // namespace fsr
