// Made by `python -m snakepit_bridge types model.py`.

import type { Float, Handle } from "@snakepit/adapter-python";

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  /** Fits a line to rows of two numbers, by least squares. */
  fit(args: { rows: Handle } | readonly [rows: Handle]): Handle<Line>;
  /** Returns what a line is at some places. */
  predict(
    args:
      | { line: Handle<Line>; at: ReadonlyArray<number | bigint | Float> }
      | readonly [line: Handle<Line>, at: ReadonlyArray<number | bigint | Float>],
  ): number[];
};

/** A line through points. */
export interface Line {
  readonly slope: number;
  readonly intercept: number;
  at(x: number | bigint | Float): number;
}
