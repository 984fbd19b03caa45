// SPDX-License-Identifier: Apache-2.0
// Says in one line why libgssapi_krb5 could not make a context, and what to do.
#pragma once

#include <cstdint>

#include "targets/rpc/gss_context.hpp"

namespace fsr::rpc {

// `code`: of the Kerberos library (minor status). `text`: the library's own words for it.
GssError kerberos_problem(int32_t code, const std::string& text, const Security& security);

}  // namespace fsr::rpc
