// Made by `python -m snakepit_bridge types tools.py`.

import type { Table as ArrowTable } from "apache-arrow";

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  /**
   * Returns the mean and the greatest temperature of each station's days.
   *
   * Args:
   *     readings: columns `at`, `station` and `celsius`, which may be missing.
   */
  days(
    args:
      | { readings: ArrowTable }
      | readonly [readings: ArrowTable],
  ): ArrowTable;
  /** Returns a row for each station, the warmest first. */
  stations(
    args:
      | { days: ArrowTable }
      | readonly [days: ArrowTable],
  ): ArrowTable;
};
