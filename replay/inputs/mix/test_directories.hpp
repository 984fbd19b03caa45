// SPDX-License-Identifier: Apache-2.0
// Protects users' files in the directories in which a mix is to work. A mix repairs such a directory and uses it again, so that
// files with its names would be removed or overwritten. It leaves a marker there, an empty file kMarkerName, by which its own
// directories are known. No state, no threads.
#pragma once

#include <functional>
#include <vector>

#include "workloads/working_set.hpp"

namespace fsr {

class Clock;
class Target;

// Throws std::runtime_error, one line, if a stream's directory holds files but no marker, or something that no mix makes. Names
// that begin with a dot and kLostAndFound are accepted, because clients, servers and file systems make such files.
// `first_free`: first id that no object of the run has. `go_on` is called before each operation. False: it returned false, and
// the check is not complete.
bool refuse_foreign_files(Target& target, Clock& clock, const std::vector<StreamFiles>& directories, ObjectId first_free,
                          const std::function<bool()>& go_on);

}  // namespace fsr
