// SPDX-License-Identifier: Apache-2.0
// The importers of NFS traffic. They stand apart from the others because they read with the NFS target's decoders.
#pragma once

#include "import/import.hpp"

namespace fsr {

extern const Importer kNfsdumpImporter;
extern const Importer kPcapImporter;

}  // namespace fsr
