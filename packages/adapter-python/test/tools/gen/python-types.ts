// Made by `python -m snakepit_bridge types python_types.py`.

import type { Float, PlainDate, PlainDateTime } from "@snakepit/adapter-python";

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  /** Returns the rows, if each part is of its type. */
  crossed(
    args:
      | { rows: readonly RowArgument[] }
      | readonly [rows: readonly RowArgument[]],
  ): RowResult[];
  paid(
    args:
      | { money: string; cents?: number | bigint | undefined }
      | readonly [money: string, cents?: number | bigint],
  ): string;
  boxes(
    args:
      | { count: number | bigint }
      | readonly [count: number | bigint],
  ): AsyncIterable<BoxResult>;
  /** Reads an input stream of `ShapeArgument`. */
  edges(): string;
  asked(args: { wait: string } | readonly [wait: string]): unknown;
  sent(args: { value: unknown } | readonly [value: unknown]): string;
};

export type ShapeArgument = {
  type: "Shape";
  outerEdge: string | number | bigint;
};

export type ShapeResult = { type: "Shape"; outerEdge: string };

/** A field for each row of the table in docs/values.md. */
export type RowArgument = {
  colour: "red" | "green";
  size: 1 | 2;
  access: number;
  decimal: string | number | bigint;
  uuid: string;
  path: string;
  address: string;
  wait: string;
  at: string;
  number: { re: number; im: number } | number;
  steps: { start?: number; stop: number; step?: number };
  queue: readonly string[];
  box: BoxArgument;
  boxes: BoxesArgument;
  job: Job;
  shape: ShapeArgument;
  model: ModelArgument;
  money: string;
  place: PlaceArgument;
  site: string;
  ratio: number | bigint | Float;
  count: number | bigint;
  moment: PlainDate | Date | PlainDateTime;
  span: string;
  kept: KeptOfCornerArgument;
  either: string | number | bigint | "red" | "green" | null;
};

/** A field for each row of the table in docs/values.md. */
export type RowResult = {
  colour: "red" | "green";
  size: 1 | 2;
  access: number;
  decimal: string;
  uuid: string;
  path: string;
  address: string;
  wait: string;
  at: string;
  number: { re: number; im: number };
  steps: { start: number; stop: number; step: number };
  queue: string[];
  box: BoxResult;
  boxes: BoxesResult;
  job: Job;
  shape: ShapeResult;
  model: ModelResult;
  money: string;
  place: PlaceResult;
  site: string;
  ratio: number;
  count: number | bigint;
  moment: PlainDate | Date | PlainDateTime;
  span: string;
  kept: KeptOfCornerResult;
  either: string | "red" | "green" | null;
};

export type BoxArgument = {
  corner: CornerArgument;
  colour: "red" | "green" | null;
  sizes: Partial<Record<"red" | "green", 1 | 2>> | ReadonlyMap<"red" | "green", 1 | 2>;
};

export type BoxResult = {
  corner: CornerResult;
  colour: "red" | "green" | null;
  sizes: Partial<Record<"red" | "green", 1 | 2>>;
};

export type BoxesArgument = {
  items: readonly BoxArgument[];
  following: BoxesArgument | null;
  kind?: "boxes" | undefined;
};

export type BoxesResult = {
  items: BoxResult[];
  following: BoxesResult | null;
  kind: "boxes";
};

export type Job = { wait: string; key: string };

export type ModelArgument = {
  id: string;
  waits: readonly string[];
  colour: "red" | "green";
};

export type ModelResult = {
  id: string;
  waits: string[];
  colour: "red" | "green";
};

/** Constraints: `floor: int (>= -5)`. */
export type PlaceArgument = { id: string; floor?: number | bigint | undefined };

/** Constraints: `floor: int (>= -5)`. */
export type PlaceResult = { id: string; floor: number | bigint };

export type KeptOfCornerArgument = {
  value: CornerArgument;
  past?: readonly CornerArgument[] | undefined;
};

export type KeptOfCornerResult = { value: CornerResult; past?: CornerResult[] };

export type CornerArgument = {
  x: number | bigint | Float;
  y: number | bigint | Float;
};

export type CornerResult = { x: number; y: number };
