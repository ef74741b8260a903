// Made by `python -m snakepit_bridge types digits.py`.

import type { NdArray } from "@snakepit/adapter-python";

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  /** Yields every image, in the order of the data set. */
  images(): AsyncIterable<Image>;
  /** Returns the digit in an image, as read by the classifier of its group. */
  read(
    args:
      | { pixels: NdArray<"uint8">; group: number | bigint }
      | readonly [pixels: NdArray<"uint8">, group: number | bigint],
  ): number | bigint;
};

/** One image: its pixels, what it shows, and its group. */
export type Image = {
  pixels: NdArray<"uint8">;
  shows: number | bigint;
  group: number | bigint;
};
