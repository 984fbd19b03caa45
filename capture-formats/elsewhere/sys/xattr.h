// SPDX-License-Identifier: Apache-2.0
#include "../elsewhere.h"

#define XATTR_CREATE 1
#define XATTR_REPLACE 2
