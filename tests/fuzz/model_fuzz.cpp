// SPDX-License-Identifier: Apache-2.0
// Files of models: the bytes of a file, and JSON behind a good mark. What is accepted is run for a limited number of operations.
#include <zstd.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "model/model_file.hpp"
#include "model/model_source.hpp"

using namespace fsr;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void use(std::string_view bytes) {
  try {
    const LoadModel model = parse_model(bytes, "input");
    if (model_json(parse_model(model_bytes(model), "copy")) != model_json(model)) abort();
    if (model.classes.size() > 16) return;
    for (const ProcessClass& c : model.classes)
      if (c.processes > 100) return;
    ModelSource source(model, {});
    OpBatch batch;
    constexpr int kBatches = 16;
    int64_t last = 0;
    for (int i = 0; i < kBatches && source.next(batch); ++i)
      for (const Op& op : batch.ops) {
        if (op.start < last) abort();
        last = op.start;
      }
  } catch (const std::runtime_error&) {
    return;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  use(text);
  // The mark is the first 16 bytes of any model.
  static const std::string mark = model_bytes({}).substr(0, 16);
  std::string file(ZSTD_compressBound(size), '\0');
  file.resize(ZSTD_compress(file.data(), file.size(), text.data(), text.size(), 1));
  use(mark + file);
  return 0;
}
