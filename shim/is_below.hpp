// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fsr {

// True: the directory `fd` is `root` or is below it, at any path and across mounts. Both stay open, and may be O_PATH.
bool is_below(int fd, int root);

}  // namespace fsr
