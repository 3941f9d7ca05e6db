"""What `forks reproduce` does: the experiments of the paper, as plans, runs, records and a report.

A plan lists runs, a run makes a record, records are appended to a file, and the report is made
from that file alone. An interrupted reproduction goes on where it stopped. `chapters` has the
experiments, one a file.
"""
