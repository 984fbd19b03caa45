// SPDX-License-Identifier: Apache-2.0
#include "targets/operations_table.hpp"

#include <fmt/format.h>

#include "base/target.hpp"
#include "targets/op_shapes.hpp"

namespace fsr {

namespace {

const char* word(Fidelity fidelity) {
  return fidelity == Fidelity::exact ? "yes" : fidelity == Fidelity::approximate ? "~" : "-";
}

std::string cell(const OpMapping& mapping, const Op& op) {
  Fidelity plain = mapping.fidelity(op, false), privileged = mapping.fidelity(op, true);
  return plain == privileged ? word(plain) : fmt::format("{} ({})", word(plain), word(privileged));
}

std::string requests(const OpMapping& mapping) {
  std::string text;
  for (unsigned kind = 0; kind < kOpKinds; ++kind)
    if (const char* what = mapping.requests(OpKind(kind)); what && *what)
      text += fmt::format("| {} | {} |\n", op_name(OpKind(kind)), what);
  return text;
}

constexpr const char* kHead = R"(# What targets do with operations

Printed by `fsreplay target operations`; a test compares the two, and the conformance suite holds the targets to it.

- **yes**: performed exactly, with the meaning that it has on a local file system.
- **~**: a similar operation is performed, and counted as approximate in the report.
- **-**: can't be expressed; not performed, counted by kind, and the exit status of a run is 4 if nothing worse happened.

In parentheses, with `--privileged`. An operation that the protocol offers but the server does not is inexpressible, too.

)";

}  // namespace

std::string operations_table() {
  std::vector<const OpMapping*> mappings;
  for (const TargetPlugin* plugin : target_plugins())
    for (const OpMapping& mapping : plugin->mappings) mappings.push_back(&mapping);

  std::string text = kHead;
  text += "| Operation |";
  for (const OpMapping* mapping : mappings) text += fmt::format(" {} |", mapping->name);
  text += "\n|---|";
  for (size_t i = 0; i < mappings.size(); ++i) text += "---|";
  text += "\n";
  for (const OpShape& shape : op_shapes()) {
    text += fmt::format("| {} |", shape.label);
    for (const OpMapping* mapping : mappings) text += fmt::format(" {} |", cell(*mapping, shape.op));
    text += "\n";
  }

  const char* (*last)(OpKind) = nullptr;
  for (const OpMapping* mapping : mappings) {
    if (!mapping->requests || mapping->requests == last) continue;  // two dialects of a protocol may share a table
    last = mapping->requests;
    std::string names;
    for (const OpMapping* other : mappings)
      if (other->requests == last) names += std::string(names.empty() ? "" : ", ") + other->name;
    text += fmt::format("\n## {}\n\n| Operation | As |\n|---|---|\n{}", names, requests(*mapping));
  }
  return text;
}

}  // namespace fsr
