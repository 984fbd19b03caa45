// SPDX-License-Identifier: Apache-2.0
// Files of models, *.fsmodel: a zstd file of JSON, behind a mark by which it is recognised. Layout: docs/model-format.md.
//
// A file is untrusted input: every number is checked, and what read_model() returns can be realised.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "model/model.hpp"

namespace fsr {

constexpr size_t kModelFileMax = size_t(16) << 20;  // bytes, compressed

// True when the first bytes of a file are those of a model.
bool looks_like_model(std::string_view first_bytes);
// Throws std::runtime_error, "NAME: why", if the bytes are no model, or one of a newer version.
LoadModel parse_model(std::string_view bytes, const std::string& name);
LoadModel read_model(const std::string& path);
bool is_model_file(const std::string& path);
LoadModel read_model(int fd, const std::string& name);  // a file that can be read at any offset
// A reader would refuse the file of a model; one line says why.
struct UnfitLoad : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Throws UnfitLoad.
void check_model(const LoadModel& model);
std::string model_bytes(const LoadModel& model);
std::string model_json(const LoadModel& model);  // the complete content of a file

}  // namespace fsr
