// SPDX-License-Identifier: Apache-2.0
// The personality vdbench. Its command is shared with fsreplay.
#include "cli/vdbench_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "personality.hpp"

namespace fsr::fsbench {

namespace {

constexpr Compared kAsCompared = {
    .check =
        [](const Words& arguments) {
          std::string texts = fmt::format("{}", fmt::join(arguments, " "));
          for (const NamedText& file : texts_named_in(arguments)) texts += "\n" + file.text;
          if (texts.find("$target") == texts.npos && texts.find("include=") == texts.npos)
            throw std::runtime_error("vdbench: expected $target in the parameter file, as in anchor=$target or lun=$target/NAME");
        },
    // Replaces $target in anchor=$target or lun=$target/big.
    .on = [](const std::string& target, unsigned, const Words&) -> Words { return {"target=" + target}; },
};

}  // namespace

constinit const Personality kVdbench = {.name = "vdbench",
                                        .what = "runs vdbench's parameter files, on devices and on trees of files",
                                        .add = add_vdbench,
                                        .on_ranks = true,
                                        .compared = &kAsCompared};

}  // namespace fsr::fsbench
