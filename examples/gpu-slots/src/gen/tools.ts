// Made by `python -m snakepit_bridge types tools.py`.

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  /** Returns what this worker may use: CUDA knows no other device here. */
  devices(): Devices;
};

export type Devices = { devices: string[]; share: number };
