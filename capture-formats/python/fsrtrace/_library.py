# SPDX-License-Identifier: Apache-2.0
"""The shared library libfsrtrace, called as its header declares it."""
import functools
import os
import re
from typing import Any, Tuple

from ._errors import Error

LIBRARY = "libfsrtrace.so.0"
HEADER = os.path.join(os.path.dirname(__file__), "fsr_trace.h")


def declarations() -> str:
    """The declarations of the header, without what a preprocessor would remove."""
    with open(HEADER, encoding="ascii") as header:
        text = re.sub(r"/\*.*?\*/", "", header.read(), flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus$.*?^#endif$", "", text, flags=re.S | re.M)
    return re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.M)


@functools.lru_cache(maxsize=None)
def load() -> Tuple[Any, Any]:
    """The interface of cffi, and the library: that of FSRTRACE_LIBRARY, or the system's."""
    import cffi  # takes a while, and results need none

    ffi = cffi.FFI()
    ffi.cdef(declarations())
    path = os.environ.get("FSRTRACE_LIBRARY") or LIBRARY
    try:
        return ffi, ffi.dlopen(path)
    except OSError as error:
        raise Error(f"{error}; the package libfsrtrace0 has it, or FSRTRACE_LIBRARY names it") from None
