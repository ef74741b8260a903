// Made by `python -m snakepit_bridge types tools.py`.

import type { Float } from "@snakepit/adapter-python";

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  /** Says hello. */
  greet(
    args:
      | { name: string; times?: number | bigint | undefined }
      | readonly [name: string, times?: number | bigint],
  ): string[];
  /** The arithmetic mean. */
  mean(
    args:
      | { numbers: ReadonlyArray<number | bigint | Float> }
      | readonly [numbers: ReadonlyArray<number | bigint | Float>],
  ): number;
  /** The square numbers, one after the other. */
  squares(
    args:
      | { below: number | bigint }
      | readonly [below: number | bigint],
  ): AsyncIterable<number | bigint>;
};
