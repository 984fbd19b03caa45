// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/utilities/utilities.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "targets/raw/device.hpp"
#include "trace/frame_codec.hpp"
#include "util/unique_fd.hpp"
#include "workloads/vdbench/language/values.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

namespace {

// A file or device that a utility reads. One thread.
class Input {
 public:
  // Throws std::runtime_error "FILE: why".
  explicit Input(const std::string& name) : name_(name), fd_(open(name.c_str(), O_RDONLY | O_CLOEXEC)) {
    const off_t end = fd_ ? lseek(fd_.get(), 0, SEEK_END) : -1;
    if (end < 0) throw std::runtime_error(name + ": " + strerror(errno));
    size_ = uint64_t(end);
  }
  // Returns the bytes from `offset` on, at most `length`; fewer: the file ends there. They are valid until the next call. Throws
  // std::runtime_error "FILE: why".
  std::string_view read(uint64_t offset, uint64_t length) {
    data_.resize(length);
    size_t got = 0;
    while (got < length) {
      const ssize_t n = pread(fd_.get(), data_.data() + got, length - got, off_t(offset + got));
      if (n < 0) throw std::runtime_error(name_ + ": " + strerror(errno));
      if (n == 0) break;
      got += size_t(n);
    }
    return std::string_view(data_).substr(0, got);
  }
  uint64_t size() const { return size_; }  // bytes, when it was opened

 private:
  std::string name_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  std::string data_;
};

std::string sector_state_text(const char* sector, uint64_t lba) {
  SectorMark mark;
  const SectorState state = look_at_sector(sector, {.offset = lba}, &mark);
  switch (state) {
    case SectorState::zeros:
      return "zeros";
    case SectorState::written:
    case SectorState::damaged:
      return fmt::format("{}written for lba={}{} of {} at {} by {}, key {}", state == SectorState::written ? "" : "damaged, ",
                         mark.offset, mark.offset == lba ? "" : " (elsewhere, or a file's offset in its tree)", mark.owner,
                         wall_text(mark.time), writer_text(mark.run, mark.rank, mark.thread), mark.key);
    default:
      return "not written by data validation";
  }
}

}  // namespace

std::string block_text(const std::string& file, uint64_t lba, uint64_t length) {
  if (length == 0 || length % kSector || lba % kSector)
    throw_error("{}: expected an LBA in bytes and a size that are multiples of {}", file, kSector);
  Input input(file);
  const std::string_view block = input.read(lba, length);
  if (block.size() < length) throw_error("{}: ends at byte {}, expected {}", file, lba + block.size(), lba + length);
  std::string text;
  for (uint64_t at = 0; at < length; at += kSector)
    text += fmt::format("sector at byte {} ({:#x}): {}\n", lba + at, lba + at, sector_state_text(block.data() + at, lba + at)) +
            dump_text(block.substr(at, kSector), lba + at);
  return text;
}

namespace {

constexpr uint64_t kSysfsSector = 512;  // unit of sizes in sysfs, whatever the disk's own sectors are

std::string line_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string disks_text() {
  std::vector<std::filesystem::path> disks;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block", error)) disks.push_back(entry.path());
  std::ranges::sort(disks);
  std::string text = "* Disks of this machine. Remove the * in front of a disk only if its content may be lost by writes.\n";
  unsigned number = 0;
  for (const std::filesystem::path& disk : disks) {
    const std::string name = disk.filename(), size = line_of(disk / "size");
    if (size.empty() || size == "0" || name.starts_with("ram")) continue;
    const raw::SignsOfUse signs = raw::signs_of_use("/dev/" + name);
    const std::string why = signs.users.empty() ? signs.content : signs.users;
    std::string about = size_text(double(std::stoull(size) * kSysfsSector));
    if (const std::string model = line_of(disk / "device/model"); !model.empty()) about += ", " + model;
    text += fmt::format("* {}{}{}\n", about, why.empty() ? "" : ": ", why);
    if (why.empty())
      text += fmt::format("sd=sd{},lun=/dev/{},openflags=o_direct\n", ++number, name);
    else
      text += fmt::format("* sd={},lun=/dev/{},openflags=o_direct\n", name, name);
  }
  if (number == 0) return text + "* No disk is free.\n";
  return text + "wd=wd1,sd=sd*,xfersize=4k,rdpct=100,seekpct=100\nrd=rd1,wd=wd1,iorate=max,elapsed=30,interval=1\n";
}

namespace {

constexpr uint64_t kPiece = 128 << 10;  // bytes, as the original compresses
constexpr int kLevel = 1;               // of zstd; random bytes followed by zeros need no higher one

// Returns how many of the first `pieces` pieces are read. At least one is, if there are any.
double chosen_of(uint64_t pieces, double percent) { return std::ceil(double(pieces) * percent / 100); }

// Passes `percent` of the pieces of the file to `act`, evenly spread over the file.
void each_piece(const std::string& name, uint64_t size, double percent, const std::function<void(std::string_view)>& act) {
  Input input(name);
  for (uint64_t number = 0; number * size < input.size(); ++number)
    if (chosen_of(number + 1, percent) > chosen_of(number, percent))
      if (const std::string_view piece = input.read(number * size, size); !piece.empty()) act(piece);
}

}  // namespace

std::string compression_text(const std::vector<std::string>& files, double percent) {
  FrameCompressor compressor(kLevel);
  uint64_t all = 0, all_compressed = 0;
  std::string text;
  auto line = [&](const std::string& name, uint64_t bytes, uint64_t compressed) {
    text += fmt::format("{}: {} read, compratio={:.2f}\n", name, size_text(double(bytes)),
                        compressed ? double(bytes) / double(compressed) : 1.0);
  };
  for (const std::string& file : files) {
    uint64_t bytes = 0, compressed = 0;
    each_piece(file, kPiece, percent, [&](std::string_view piece) {
      ByteWriter out;
      compressor.compress(piece, {}, out);
      bytes += piece.size();
      compressed += std::min<uint64_t>(out.size(), piece.size());
    });
    line(file, bytes, compressed);
    all += bytes;
    all_compressed += compressed;
  }
  if (files.size() > 1) line("all", all, all_compressed);
  return text;
}

std::string dedup_text(const std::vector<std::string>& files, uint64_t unit) {
  if (unit == 0 || unit % 512) throw std::runtime_error("-u: expected a multiple of 512 bytes");
  struct Hash {
    size_t operator()(const XXH128_hash_t& hash) const { return hash.low64; }
  };
  struct Same {
    bool operator()(const XXH128_hash_t& a, const XXH128_hash_t& b) const { return XXH128_isEqual(a, b); }
  };
  std::unordered_set<XXH128_hash_t, Hash, Same> different;
  uint64_t units = 0;
  for (const std::string& file : files)
    each_piece(file, unit, 100, [&](std::string_view piece) {
      ++units;
      different.insert(XXH3_128bits(piece.data(), piece.size()));
    });
  return fmt::format("{} units of {}, {} different: dedupratio={:.2f}\n", units, size_text(double(unit)), different.size(),
                     different.empty() ? 1.0 : double(units) / double(different.size()));
}

}  // namespace fsr::vdbench
