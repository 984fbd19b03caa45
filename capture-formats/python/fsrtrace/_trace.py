# SPDX-License-Identifier: Apache-2.0
"""Traces: operations one by one, or as columns."""
import operator
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from ._errors import DamageError, Error
from ._library import load
from ._table import Table

if TYPE_CHECKING:
    import pandas
    import pyarrow

KERNEL = 1  #: bit of `flags`: issued by the kernel on its own: release, read-ahead or write-back
UNFINISHED = 2  #: bit of `flags`: the capture ended before the reply: error, duration_ns and result are not known

BATCH = 1 << 18  # operations
MOST_AT_FIRST = 1 << 26  # operations that columns have room for before any is read
ITERATED = 1 << 14  # operations that are made Python objects at once

_STRINGS = ("path", "path2", "command")
_TYPES = {
    "number": "uint64", "start_ns": "int64", "duration_ns": "int64", "kind": "uint8", "path": "uint32", "path2": "uint32",
    "error": "int32", "flags": "uint32", "object": "uint64", "handle": "uint64", "offset": "uint64", "length": "uint64",
    "result": "uint64", "uid": "uint32", "gid": "uint32", "pid": "int32", "tid": "int32", "command": "uint32", "client": "uint32",
    "mode": "uint32", "open_flags": "uint32",
}


class Operation(NamedTuple):
    """One operation and its outcome. Names that are not UTF-8 are as os.fsdecode makes them."""

    number: int  #: within the trace, from 0, in order of starts
    start_ns: int  #: since the start of the capture, monotonic
    duration_ns: int  #: until the reply
    kind: str  #: "read", "rename", ...: kinds() has all
    path: str  #: below the captured directory, which is "."; "#12": the trace does not contain the name of object 12
    path2: str  #: new name of a rename or link
    error: int  #: errno, positive; 0: success
    flags: int  #: KERNEL, UNFINISHED
    object: int  #: identity of the file within the trace, kept across renames; 0: not known
    handle: int  #: the open instance, from open to release; 0: none
    offset: int  #: bytes
    length: int  #: requested bytes
    result: int  #: bytes that were read or written, or entries that were listed
    uid: int  #: user of the caller
    gid: int  #: group of the caller
    pid: int  #: process of the caller; 0: not known
    tid: int  #: thread of the caller; 0: not known
    command: str  #: name of the calling thread
    client: int  #: number of the captured machine in a merged trace
    mode: int  #: permissions of what is created, or what access, lseek, fallocate or a lock asks for
    open_flags: int  #: O_... of an open or create


class Columns(Table):
    """Operations as arrays. Columns of text are kept as numbers; reading one makes an array of str objects."""

    def __init__(self, columns: Dict[str, np.ndarray], rows: int, strings: List[str]) -> None:
        super().__init__(columns, rows)
        self._strings = strings

    def __getitem__(self, name: str) -> np.ndarray:
        if name != "kind" and name not in _STRINGS:
            return self._columns[name]
        numbers, texts = self.categories(name)
        return np.array(texts, dtype=object)[numbers]

    def categories(self, name: str) -> Tuple[np.ndarray, List[str]]:
        """A column of text as numbers, and the texts that they are places of."""
        numbers = self._columns[name]
        if name == "kind":
            return numbers, kinds()
        if name not in _STRINGS:
            raise Error(f"column {name} has no text")
        used = np.zeros(len(self._strings), dtype=bool)
        used[numbers] = True
        places = np.cumsum(used, dtype=np.uint32) - np.uint32(1)
        return places[numbers], [self._strings[i] for i in np.flatnonzero(used)]

    def _is_text(self, name: str) -> bool:
        return name == "kind" or name in _STRINGS

    def _pandas_column(self, name: str):
        import pandas
        if not self._is_text(name):
            return self[name]
        numbers, texts = self.categories(name)
        return pandas.Categorical.from_codes(numbers.astype(np.int32), categories=texts)

    def _arrow_column(self, name: str):
        import pyarrow
        if not self._is_text(name):
            return pyarrow.array(self[name])
        numbers, texts = self.categories(name)
        # Arrow takes UTF-8 only: other bytes are written as \xe4.
        plain = [text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") for text in texts]
        return pyarrow.DictionaryArray.from_arrays(numbers.astype(np.int32), pyarrow.array(plain, pyarrow.string()))


@dataclass(frozen=True)
class _Conditions:
    from_ns: Optional[int] = None
    to_ns: Optional[int] = None
    kinds: Tuple[str, ...] = ()
    pids: Tuple[int, ...] = ()
    tids: Tuple[int, ...] = ()
    empty: bool = False  # two conditions exclude each other
    allow_damage: bool = False


def _both(first: tuple, second: Optional[Iterable]) -> Tuple[tuple, bool]:
    """What is in both; an empty one stands for everything. True: nothing is."""
    if second is None:
        return first, False
    second = tuple(dict.fromkeys(second))
    common = tuple(v for v in second if not first or v in first)
    return common, not common


def _whole(name: str, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():  # 60e9
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        raise Error(f"{name}={value!r}: expected a whole number") from None


def _time(name: str, value: Any) -> Optional[int]:
    """In ns; one that no operation can have, as the next that one may have."""
    return None if value is None else max(-2**63, min(_whole(name, value), 2**63 - 1))


def _processes(name: str, values: Any) -> Optional[List[int]]:
    """Without those that no process can have."""
    if values is None:
        return None
    numbers = [_whole(name, value) for value in (values if isinstance(values, Iterable) else [values])]
    return [number for number in numbers if 0 <= number < 2**31]


def _known(columns: Tuple[str, ...]) -> Tuple[str, ...]:
    for name in columns:
        if name not in _TYPES:
            raise Error(f"no such column: {name}; columns: {', '.join(_TYPES)}")
    return columns or Operation._fields


class Selection:
    """Operations of a trace that fulfil some conditions. Nothing is read before it is asked for, and each time from the file."""

    def __init__(self, path: str, conditions: _Conditions, damage: List[str]) -> None:
        self.path = path
        self._conditions = conditions
        self._damage = damage

    def select(self, *, kinds: Optional[Iterable[str]] = None, from_ns: Optional[int] = None, to_ns: Optional[int] = None,
               pids: Union[int, Iterable[int], None] = None, tids: Union[int, Iterable[int], None] = None,
               allow_damage: Optional[bool] = None) -> "Selection":
        """The operations of these kinds, that start at from_ns or later and before to_ns, of these processes and threads.

        Conditions add to those that are there. Blocks of the trace without such an operation are not unpacked. With allow_damage, parts
        that can't be read are only listed in Trace.damage.
        """
        now = self._conditions
        if isinstance(kinds, str):
            kinds = [kinds]
        both_kinds, no_kind = _both(now.kinds, kinds)
        both_pids, no_pid = _both(now.pids, _processes("pids", pids))
        both_tids, no_tid = _both(now.tids, _processes("tids", tids))
        begin, end = _time("from_ns", from_ns), _time("to_ns", to_ns)
        conditions = replace(
            now, kinds=both_kinds, pids=both_pids, tids=both_tids, empty=now.empty or no_kind or no_pid or no_tid,
            from_ns=now.from_ns if begin is None else begin if now.from_ns is None else max(begin, now.from_ns),
            to_ns=now.to_ns if end is None else end if now.to_ns is None else min(end, now.to_ns),
            allow_damage=now.allow_damage if allow_damage is None else allow_damage)
        if kinds is not None:
            _Reading(self.path, replace(conditions, kinds=tuple(kinds)), ())  # refuses names that don't exist
        return Selection(self.path, conditions, self._damage)

    def __iter__(self) -> Iterator[Operation]:
        for batch in self.batches(rows=ITERATED):
            yield from map(Operation._make, zip(*(batch[name].tolist() for name in Operation._fields)))

    def batches(self, *columns: str, rows: int = BATCH) -> Iterator[Columns]:
        """The operations as columns, at most `rows` at a time, so that memory does not follow the length of the trace."""
        if rows < 1:
            raise Error(f"rows={rows}: 1 or more")
        return self._batches(_known(columns), rows)

    def _batches(self, names: Tuple[str, ...], rows: int) -> Iterator[Columns]:
        if self._conditions.empty:
            return
        reading = _Reading(self.path, self._conditions, names)
        count = rows
        while count == rows:
            arrays = {name: np.empty(rows, dtype=_TYPES[name]) for name in names}
            count = reading.fill(arrays, 0, rows)
            if count:
                yield Columns({name: array[:count] for name, array in arrays.items()}, count, reading.strings)
        self._end(reading)

    def _end(self, reading: "_Reading") -> None:
        found = reading.damage()
        self._damage[:] = list(dict.fromkeys([*self._damage, *found]))
        if found and not self._conditions.allow_damage:
            raise DamageError(f"{self.path}: {found[0]}" + (f" (and {len(found) - 1} more)" if len(found) > 1 else ""))

    def columns(self, *columns: str) -> Columns:
        """These columns of all operations; without names all columns. `path` and `path2` take most of the time."""
        names = _known(columns)
        if self._conditions.empty:
            return Columns({name: np.empty(0, dtype=_TYPES[name]) for name in names}, 0, [])
        reading = _Reading(self.path, self._conditions, names)
        # The index of a damaged trace may say anything. Memory that is not filled is not taken.
        room = min(int(reading.info()["operations"]) + 1, MOST_AT_FIRST)
        arrays = {name: np.empty(room, dtype=_TYPES[name]) for name in names}
        rows = reading.fill(arrays, 0, room)
        while rows == room:
            room *= 2
            for array in arrays.values():
                array.resize(room, refcheck=False)
            rows += reading.fill(arrays, rows, room - rows)
        for array in arrays.values():
            array.resize(rows, refcheck=False)
        self._end(reading)
        return Columns(arrays, rows, reading.strings)

    def to_pandas(self, *columns: str) -> "pandas.DataFrame":
        """As columns(), as a DataFrame; columns of text are categorical."""
        return self.columns(*columns).to_pandas()

    def to_arrow(self, *columns: str) -> "pyarrow.Table":
        """As columns(), as a table of Arrow; columns of text are dictionaries. pyarrow.parquet writes it to a file."""
        return self.columns(*columns).to_arrow()


class Trace(Selection):
    """All operations of a trace, and what it says about itself."""

    operations: int  #: according to the index
    dropped: int  #: operations that the capture saw and did not record
    begin_ns: int  #: 0, or the start of the first operation if earlier pieces of a series are not there
    end_ns: int  #: start of the last operation
    epoch_ns: int  #: Unix time of start_ns 0
    id: str
    host: str  #: captured machine
    directory: str  #: captured directory
    command: str  #: captured command; "": none
    program: str  #: what wrote the trace

    def __init__(self, path: str) -> None:
        super().__init__(path, _Conditions(), [])
        reading = _Reading(path, self._conditions, ())
        for name, value in reading.info().items():
            setattr(self, name, value)
        self._damage += reading.damage()

    @property
    def damage(self) -> List[str]:
        """A line for each part that could not be read, as far as that was noticed so far."""
        return list(self._damage)

    def __repr__(self) -> str:
        return f"<Trace {self.path}: {self.operations} operations in {(self.end_ns - self.begin_ns) / 1e9:.3f} s>"


def open(path: Union[str, "os.PathLike[str]"]) -> Trace:  # pylint: disable=redefined-builtin
    """Opens a trace file, or all pieces of a series by its name. Raises Error if the file is no trace."""
    return Trace(os.fspath(path))


def kinds() -> List[str]:
    """Names of all kinds of operations, by number."""
    ffi, library = load()
    found: List[str] = []
    while (name := library.fsr_kind_name(len(found))) != ffi.NULL:
        found.append(ffi.string(name).decode())
    return found


class _Reading:
    """An open trace. One thread."""

    def __init__(self, path: str, conditions: _Conditions, names: Tuple[str, ...]) -> None:
        self._ffi, self._library = load()
        self._error = self._ffi.new("const char**")
        self._path = path
        self._names = names
        self.strings: List[str] = []  # by number, those that the columns name so far
        handle = self._library.fsr_trace_open(os.fsencode(path), self._error)
        if handle == self._ffi.NULL:
            self._fail()
        self._trace = self._ffi.gc(handle, self._library.fsr_trace_close)
        self._select(conditions)

    def _text(self, text: Any) -> str:
        return os.fsdecode(self._ffi.string(text))

    def _fail(self) -> None:
        text = self._text(self._error[0])
        raise Error(text if text.startswith(self._path) else f"{self._path}: {text}")

    def _select(self, conditions: _Conditions) -> None:
        new = self._ffi.new
        kept = [new("char[]", os.fsencode(kind)) for kind in conditions.kinds]  # the selection points to them
        kind_names = new("const char*[]", kept)
        pids, tids = new("int32_t[]", conditions.pids), new("int32_t[]", conditions.tids)
        selection = new("fsr_selection*", {
            "size": self._ffi.sizeof("fsr_selection"),
            "from_ns": -2**63 if conditions.from_ns is None else conditions.from_ns,
            "to_ns": 2**63 - 1 if conditions.to_ns is None else conditions.to_ns,
            "kinds": kind_names, "kind_count": len(kept),
            "pids": pids, "pid_count": len(pids), "tids": tids, "tid_count": len(tids),
            "without_paths": int("path" not in self._names and "path2" not in self._names),
        })
        if self._library.fsr_trace_select(self._trace, selection, self._error):
            self._fail()

    def info(self) -> Dict[str, Union[int, str]]:
        found = self._library.fsr_trace_info(self._trace)
        members = {name: getattr(found, name) for name in ("operations", "dropped", "begin_ns", "end_ns", "epoch_ns")}
        return {**members, **{name: self._text(getattr(found, name)) for name in ("id", "host", "directory", "command", "program")}}

    def damage(self) -> List[str]:
        found: List[str] = []
        while (line := self._library.fsr_trace_damage(self._trace, len(found))) != self._ffi.NULL:
            found.append(self._text(line))
        return found

    def fill(self, arrays: Dict[str, np.ndarray], begin: int, rows: int) -> int:
        """Fills at most so many rows from `begin` on, and returns how many; fewer: the end."""
        columns = self._ffi.new("fsr_columns*", {
            "size": self._ffi.sizeof("fsr_columns"),
            **{name: self._ffi.from_buffer(f"{_TYPES[name]}_t[]", array[begin:]) for name, array in arrays.items()},
        })
        count = self._library.fsr_trace_read_columns(self._trace, columns, rows, self._error)
        if count == self._ffi.cast("size_t", -1):
            self._fail()
        if any(name in _STRINGS for name in self._names):
            while (text := self._library.fsr_trace_string(self._trace, len(self.strings))) != self._ffi.NULL:
                self.strings.append(self._text(text))
        return count
