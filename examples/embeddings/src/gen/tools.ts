// Made by `python -m snakepit_bridge types embedder.py`.

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  /** Returns a vector of 64 numbers and length 1. */
  embed(args: { text: string } | readonly [text: string]): number[];
  /** Counts the texts, and the passes of the model in which they were. */
  work_done(): Work;
};

export type Work = { texts: number | bigint; passes: number | bigint };
