// SPDX-License-Identifier: Apache-2.0
// `raw:PATH` - a block device or a large file, driven through io_uring with O_DIRECT.
//
// A device has no names: of a trace, its data operations are performed. Each file of the run has one extent of the device
// (layout.hpp), and an operation keeps its offset within it. Where the device wants whole blocks, a request is widened to them: a
// read in place, a write by reading the blocks at its ends first. All that is counted. Operations on names and attributes are
// impossible; so are those that failed in the capture, for no device fails in that way.
#pragma once

namespace fsr {

struct TargetPlugin;
extern const TargetPlugin raw_plugin;

}  // namespace fsr
