// SPDX-License-Identifier: Apache-2.0
// The importer of NFS traffic. It stands apart from the others because it reads with the NFS target's decoders.
#pragma once

#include "import/import.hpp"

namespace fsr {

extern const Importer kPcapImporter;

}  // namespace fsr
