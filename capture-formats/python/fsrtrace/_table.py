# SPDX-License-Identifier: Apache-2.0
"""Columns of equal length."""
from collections.abc import Mapping
from typing import TYPE_CHECKING, Dict, Iterator

import numpy as np

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Table(Mapping):
    """Arrays by name, in the order of the columns. `rows` is their length."""

    def __init__(self, columns: Dict[str, np.ndarray], rows: int) -> None:
        self._columns = columns
        self.rows = rows

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Number of columns, as of every mapping."""
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.rows} rows: {', '.join(self)}>"

    def to_pandas(self) -> "pandas.DataFrame":
        """A DataFrame of pandas, which must be installed."""
        import pandas
        return pandas.DataFrame({name: self._pandas_column(name) for name in self})

    def to_arrow(self) -> "pyarrow.Table":
        """A table of pyarrow, which must be installed."""
        import pyarrow
        return pyarrow.table({name: self._arrow_column(name) for name in self})

    def _pandas_column(self, name: str):
        return self[name]

    def _arrow_column(self, name: str):
        import pyarrow
        return pyarrow.array(self[name])
