# SPDX-License-Identifier: Apache-2.0
"""Results databases of fsreplay and fsbench; docs/results.md explains their tables."""
import contextlib
import os
import pathlib
import sqlite3
from typing import List, Union

import numpy as np

from ._errors import Error
from ._table import Table

APPLICATION = 0x66737265  # "fsre"


class Results:
    """A results database. It is opened for each question, read-only, so that runs may be added meanwhile."""

    def __init__(self, path: str) -> None:
        self.path = path
        if not os.path.exists(path):
            raise Error(f"{path}: No such file or directory")
        if int(self.query("pragma application_id")["application_id"][0]) != APPLICATION:
            raise Error(f"{path}: not a results database")
        #: version of the layout of tables
        self.version = int(self.query("pragma user_version")["user_version"][0])

    @property
    def tables(self) -> List[str]:
        """Names of tables and views."""
        return list(self.query("select name from sqlite_master where type in ('table', 'view') order by rowid")["name"])

    def table(self, name: str) -> Table:
        """All rows of a table or view: table("run") has one for each run."""
        if name not in self.tables:
            raise Error(f"{self.path}: no such table: {name}; tables: {', '.join(self.tables)}")
        quoted = name.replace('"', '""')
        return self.query(f'select * from "{quoted}"')

    def query(self, sql: str, *parameters: Union[int, float, str]) -> Table:
        """The rows of a query in SQL, with parameters for its question marks.

        Columns of numbers are arrays of numbers, with NaN for null; all others are arrays of objects, with None for null.
        """
        try:
            uri = pathlib.Path(self.path).absolute().as_uri() + "?mode=ro"
            with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
                cursor = database.execute(sql, parameters)
                names = [column[0] for column in cursor.description or ()]
                rows = cursor.fetchall()
        except sqlite3.Error as error:
            why = "not a results database" if "not a database" in str(error) else str(error)
            raise Error(f"{self.path}: {why}") from None
        columns = list(zip(*rows)) if rows else [()] * len(names)
        return Table({name: _array(values) for name, values in zip(names, columns)}, len(rows))

    def __repr__(self) -> str:
        return f"<Results {self.path}>"


def _array(values: tuple) -> np.ndarray:
    types = set(map(type, values))
    if types == {int}:
        return np.array(values, dtype=np.int64)
    if types and types <= {int, float, type(None)} and types != {type(None)}:
        return np.array(values, dtype=np.float64)
    return np.array(values, dtype=object)


def results(path: Union[str, "os.PathLike[str]"]) -> Results:
    """Opens a results database. Raises Error if the file is none."""
    return Results(os.fspath(path))
