// SPDX-License-Identifier: Apache-2.0
// SQLite as a library, or, in a loadable extension, that of the program which loads it.
#pragma once

#ifdef FSR_SQLITE_EXTENSION
#include <sqlite3ext.h>
extern "C" {
SQLITE_EXTENSION_INIT3
}
#else
#include <sqlite3.h>
#endif
