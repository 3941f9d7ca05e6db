"""Tables of mixed columns as rows of numbers, learned on the way.

- `columns`: tables of any type as named arrays.
- `cells`: what is missing, what is a number, and which cells are the same value.
- `kinds`: what a column holds, found from the first rows.
- `dates`: dates and times that are written as text.
- `categories`, `times`, `text`: how columns of a kind are encoded; numbers stay what they are, and
  gaps are filled by `forks.features.means`.
- `statistics`: means of the label and counts for values of a category, in bounded memory.
- `ranges`: the least and the largest number of columns, to be looked at.
- `targets`: labels as the numbers whose means are taken.
- `copies`: columns that copy the label.
- `layout`: which features all columns become together; `state`: that as JSON and arrays.
- `encoder`: the transformer.
"""

from forks.features.table.cells import MISSING_WORDS, CellError
from forks.features.table.encoder import TableEncoder
from forks.features.table.kinds import KINDS, Column

__all__ = ["KINDS", "MISSING_WORDS", "CellError", "Column", "TableEncoder"]
