// SPDX-License-Identifier: Apache-2.0
#include "import.hpp"

namespace fsr {

// In the order in which they are tried: what is more particular first.
static const Importer* const kImporters[] = {
    &kPcapImporter, &kNfsdumpImporter,  &kFioIologImporter, &kMsrImporter,    &kDftracerImporter,
    &kDxtImporter,  &kLoggedfsImporter, &kBlkparseImporter, &kStraceImporter,
};

std::span<const Importer* const> importers() { return kImporters; }

const Importer* find_importer(std::string_view name) {
  for (const Importer* i : kImporters)
    if (name == i->name) return i;
  return nullptr;
}

bool next_text_line(ImportInput& input, ImportSink& sink, std::string_view* out) {
  while (input.line(out)) {
    if (out->empty()) continue;
    if (out->find('\0') == std::string_view::npos && out->size() < ImportInput::kLongestLine) return true;
    sink.note(ImportNotes::lost, "lines with NUL bytes, or longer than 32 MiB");
  }
  return false;
}

uint64_t ImportNotes::total(Kind kind) const {
  uint64_t n = 0;
  for (const auto& [why, c] : counts[kind]) n += c.count;
  return n;
}

}  // namespace fsr
