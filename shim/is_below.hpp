// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fsr {

// Whether the directory `fd` is `root` or lies below it, at whatever path and across mounts. Both stay open; they may be O_PATH.
bool is_below(int fd, int root);

}  // namespace fsr
