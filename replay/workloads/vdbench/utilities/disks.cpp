// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/utilities/utilities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "targets/raw/device.hpp"
#include "workloads/vdbench/language/values.hpp"

namespace fsr::vdbench {

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

}  // namespace fsr::vdbench
