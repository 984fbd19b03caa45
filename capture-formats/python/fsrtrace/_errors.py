# SPDX-License-Identifier: Apache-2.0
"""What this package raises."""


class Error(Exception):
    """A file can't be read, or something asked for does not exist. The text is one line."""


class DamageError(Error):
    """A part of a trace could not be read. It is raised when all the rest has been read."""
