// SPDX-License-Identifier: Apache-2.0
// The target `raw:PATH`: a block device or a large file, used through io_uring with O_DIRECT.
//
// Only data operations are performed, because a device has no names. Each file of the run has one extent of the device
// (layout.hpp), in which an operation keeps its offset. A request that is not of whole blocks is widened and counted. A widened
// read is one request; a widened write reads the blocks at its ends first. Operations on names and attributes are impossible.
// Operations that failed in the capture are impossible, too, because no device fails in that way.
#pragma once

namespace fsr {

struct TargetPlugin;
extern const TargetPlugin raw_plugin;

}  // namespace fsr
