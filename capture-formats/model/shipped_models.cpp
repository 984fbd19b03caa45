// SPDX-License-Identifier: Apache-2.0
#include "model/shipped_models.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "model/model_file.hpp"

namespace fsr {

namespace {

constexpr std::string_view kSuffix = ".fsmodel";

// Returns the directory of the models. Empty: there is none.
std::filesystem::path models_directory() {
  std::error_code error;
  const std::filesystem::path above = std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  for (const std::filesystem::path& place : {above / "share/fsreplay/models", above / "models"})
    if (std::filesystem::is_directory(place, error)) return place;
  return {};
}

}  // namespace

std::vector<std::string> shipped_models() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(models_directory(), error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kSuffix)) names.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<LoadModel> model_by_name(const std::string& name) {
  if (is_model_file(name)) return read_model(name);
  std::error_code error;
  if (name.starts_with(kShippedModel) && !std::filesystem::exists(name, error)) return read_shipped_model(name);
  return std::nullopt;
}

LoadModel read_shipped_model(const std::string& name) {
  const std::vector<std::string> names = shipped_models();
  const std::string wanted = name.substr(std::min(name.size(), kShippedModel.size()));
  if (names.empty()) throw std::runtime_error(name + ": the models are not installed; expected them in share/fsreplay/models");
  if (std::find(names.begin(), names.end(), wanted) == names.end())
    throw std::runtime_error(fmt::format("{}: no such model; there are {}", name, fmt::join(names, ", ")));
  return read_model((models_directory() / (wanted + std::string(kSuffix))).string());
}

}  // namespace fsr
