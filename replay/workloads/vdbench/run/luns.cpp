// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/luns.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "workloads/vdbench/language/hosts.hpp"

namespace fsr::vdbench {

std::pair<std::string, std::string> split_lun(const std::string& lun) {
  const size_t query = std::min(lun.find('?'), lun.size());
  const size_t slash = lun.rfind('/', query == 0 ? 0 : query - 1), colon = lun.find(':');
  const bool url = colon != std::string::npos && colon < slash;
  if (slash == std::string::npos) {
    if (colon != std::string::npos)
      return {lun.substr(0, colon + 1) + lun.substr(query), lun.substr(colon + 1, query - colon - 1)};
    return {".", lun};
  }
  std::string directory = lun.substr(0, slash);
  const std::string name = lun.substr(slash + 1, query - slash - 1);
  if (directory.empty() || (url && directory.ends_with('/'))) directory += '/';
  if (url && std::count(directory.begin(), directory.end(), '/') == 2) directory += '/';  // "9p://host/"
  return {directory + lun.substr(query), name};
}

bool is_block_device(const std::string& lun) {
  struct stat st;
  return stat(lun.c_str(), &st) == 0 && S_ISBLK(st.st_mode);
}

std::string local_path(const std::string& lun) {
  if (lun.starts_with("raw:")) return lun.substr(4);
  return lun.starts_with("file:") ? lun.substr(5, lun.find('?') - 5) : lun;
}

bool is_below_dev(const std::string& lun) {
  std::error_code error;
  return std::filesystem::weakly_canonical(local_path(lun), error).string().starts_with("/dev/");
}

void check_lun(const Storage& storage) {
  if (storage.lun.find('\\') != std::string::npos)
    throw_error("lun={}; Lun requested on a non-windows system contains a backslash. Please correct", storage.lun);
  if (is_below_dev(storage.lun) && access(local_path(storage.lun).c_str(), F_OK) != 0)
    throw_error("Raw device 'sd={},lun={}' does not exist, or no permissions.", storage.name, storage.lun);
  const std::string directory = split_lun(storage.lun).first;
  if (directory.find(':') == std::string::npos && !is_block_device(storage.lun) && !std::filesystem::exists(directory))
    throw_error("sd={}: {}: the directory {} does not exist", storage.name, storage.lun, directory);
}

}  // namespace fsr::vdbench
