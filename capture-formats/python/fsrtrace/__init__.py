# SPDX-License-Identifier: Apache-2.0
"""Reads traces of file operations that fsshim recorded, and results of fsreplay and fsbench.

    import fsrtrace

    trace = fsrtrace.open("web.zst")
    for op in trace.select(kinds=["read"]):           # an operation after the other
        print(op.path, op.duration_ns)
    columns = trace.columns("kind", "duration_ns")    # numpy arrays, millions of operations a second
    runs = fsrtrace.results("runs.db").table("run")

All failures are raised as fsrtrace.Error, with the line that the programs would print. A trace may be read by several threads at once,
because each reading opens the file for itself.
"""
from ._errors import DamageError, Error
from ._results import Results, results
from ._table import Table
from ._trace import KERNEL, UNFINISHED, Columns, Operation, Selection, Trace, kinds, open

__all__ = ["KERNEL", "UNFINISHED", "Columns", "DamageError", "Error", "Operation", "Results", "Selection", "Table", "Trace", "kinds",
           "open", "results"]
