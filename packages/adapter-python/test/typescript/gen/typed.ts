// Made by `python -m snakepit_bridge types typed.py`.

import type { Float, NdArray, PlainDate, PlainDateTime, Tuple } from "@snakepit/adapter-python";

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  integer(
    args:
      | { value: number | bigint }
      | readonly [value: number | bigint],
  ): number | bigint;
  number(
    args:
      | { value: number | bigint | Float }
      | readonly [value: number | bigint | Float],
  ): number;
  text(args: { value: string } | readonly [value: string]): string;
  flag(args: { value: boolean } | readonly [value: boolean]): boolean;
  nothing(args: { value: null } | readonly [value: null]): null;
  binary(
    args:
      | { value: Uint8Array | ArrayBuffer }
      | readonly [value: Uint8Array | ArrayBuffer],
  ): Uint8Array;
  mutable(
    args:
      | { value: Uint8Array | ArrayBuffer }
      | readonly [value: Uint8Array | ArrayBuffer],
  ): Uint8Array;
  moment(
    args:
      | { value: Date | PlainDateTime }
      | readonly [value: Date | PlainDateTime],
  ): Date | PlainDateTime;
  day(args: { value: PlainDate } | readonly [value: PlainDate]): PlainDate;
  numbers(
    args:
      | { value: ReadonlyArray<number | bigint | Float> }
      | readonly [value: ReadonlyArray<number | bigint | Float>],
  ): number[];
  words(
    args:
      | { value: readonly string[] }
      | readonly [value: readonly string[]],
  ): string[];
  sizes(
    args:
      | {
          value: Record<string, number | bigint> | ReadonlyMap<string, number | bigint>;
        }
      | readonly [
          value: Record<string, number | bigint> | ReadonlyMap<string, number | bigint>,
        ],
  ): Record<string, number | bigint>;
  by_number(
    args:
      | { value: Record<string, never> | ReadonlyMap<number | bigint, string> }
      | readonly [
          value: Record<string, never> | ReadonlyMap<number | bigint, string>,
        ],
  ): Record<string, never> | Map<number | bigint, string>;
  by_either(
    args:
      | {
          value: Record<string, boolean> | ReadonlyMap<number | bigint | string, boolean>;
        }
      | readonly [
          value: Record<string, boolean> | ReadonlyMap<number | bigint | string, boolean>,
        ],
  ): Record<string, boolean> | Map<number | bigint | string, boolean>;
  by_choice(
    args:
      | {
          value: Partial<Record<"x" | "y", number | bigint>> | ReadonlyMap<"x" | "y", number | bigint>;
        }
      | readonly [
          value: Partial<Record<"x" | "y", number | bigint>> | ReadonlyMap<"x" | "y", number | bigint>,
        ],
  ): Partial<Record<"x" | "y", number | bigint>>;
  pair(
    args:
      | { value: readonly [number | bigint, string] }
      | readonly [value: readonly [number | bigint, string]],
  ): [number | bigint, string];
  run(
    args:
      | { value: ReadonlyArray<number | bigint | Float> }
      | readonly [value: ReadonlyArray<number | bigint | Float>],
  ): Tuple<number>;
  cells(
    args:
      | { value: ReadonlySet<Tuple<number | bigint | string>> }
      | readonly [value: ReadonlySet<Tuple<number | bigint | string>>],
  ): Set<Tuple<number | bigint | string>>;
  frozen(
    args:
      | { value: ReadonlySet<string> }
      | readonly [value: ReadonlySet<string>],
  ): Set<string>;
  floats(
    args:
      | { value: NdArray<"float32"> | Float32Array }
      | readonly [value: NdArray<"float32"> | Float32Array],
  ): NdArray<"float32">;
  pixels(
    args:
      | { value: NdArray<"uint8"> }
      | readonly [value: NdArray<"uint8">],
  ): NdArray<"uint8">;
  array(
    args:
      | {
          value: NdArray | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint16Array | Uint32Array | BigUint64Array | Float32Array | Float64Array;
        }
      | readonly [
          value: NdArray | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint16Array | Uint32Array | BigUint64Array | Float32Array | Float64Array,
        ],
  ): NdArray;
  box(args: { value: BoxArgument } | readonly [value: BoxArgument]): BoxResult;
  labelled(args: { value: Labelled } | readonly [value: Labelled]): Labelled;
  choice(
    args:
      | { value: "a" | 2 | -3 | true | null }
      | readonly [value: "a" | 2 | -3 | true | null],
  ): "a" | 2 | -3 | true | null;
  either(
    args:
      | { value: number | bigint | readonly string[] | null }
      | readonly [value: number | bigint | readonly string[] | null],
  ): number | bigint | string[] | null;
  anything(args: { value: unknown } | readonly [value: unknown]): unknown;
  iterable(
    args:
      | { value: ReadonlyArray<number | bigint> }
      | readonly [value: ReadonlyArray<number | bigint>],
  ): unknown;
  sequence(
    args:
      | { value: readonly string[] }
      | readonly [value: readonly string[]],
  ): unknown;
  odd(): unknown;
  /** Says hello. *\/ syntax error */
  greet(
    args:
      | { name: string; times?: number | bigint | undefined }
      | readonly [name: string, times?: number | bigint],
  ): string[];
  /**
   * Takes what it is given.
   *
   * \@ts-expect-error
   */
  optional(
    args?:
      | { first?: number | bigint | undefined; second?: string | null | undefined }
      | readonly [first?: number | bigint, second?: string | null],
  ): [number | bigint, string | null];
  placed(
    args?:
      | {
          first?: number | bigint | undefined;
          second?: undefined;
          third?: number | bigint | undefined;
        }
      | {
          first: number | bigint;
          second?: number | bigint | undefined;
          third?: number | bigint | undefined;
        }
      | readonly [
          first?: number | bigint,
          second?: number | bigint,
          third?: number | bigint,
        ],
  ): Array<number | bigint>;
  keyword(args: { place?: number | bigint | undefined; key: string }): string;
  rest(
    args:
      | { first: string }
      | readonly [first: string, ...rest: Array<number | bigint>],
  ): Array<number | bigint>;
  /** Any other name takes `number | bigint`. */
  others(
    args?:
      | {
          first?: string | undefined;
          hm?: boolean | undefined;
          [name: string]: unknown;
        }
      | readonly [first?: string],
  ): Record<string, number | bigint>;
  counts(
    args?:
      | { [name: string]: number | bigint }
      | readonly [],
  ): Record<string, number | bigint>;
  count(
    args:
      | { below: number | bigint }
      | readonly [below: number | bigint],
  ): AsyncIterable<number | bigint>;
  count_and_total(
    args:
      | { below: number | bigint }
      | readonly [below: number | bigint],
  ): AsyncIterable<number | bigint, Record<string, number | bigint>>;
  count_widely(
    args:
      | { below: number | bigint }
      | readonly [below: number | bigint],
  ): AsyncIterable<number | bigint>;
  count_later(
    args:
      | { below: number | bigint }
      | readonly [below: number | bigint],
  ): AsyncIterable<number | bigint>;
  /**
   * Adds up.
   *
   * Reads an input stream of `number | bigint | Float`.
   */
  running_sum(): AsyncIterable<number>;
  "new"(
    args:
      | {
          constructor: number | bigint;
          function: number | bigint;
          "new": number | bigint;
          "größe": number | bigint;
        }
      | readonly [
          constructor: number | bigint,
          function_: number | bigint,
          new_: number | bigint,
          _3: number | bigint,
        ],
  ): number | bigint;
  "a \"name\" \\ */\n"(): string;
  /** Counts on. */
  "counter.next"(
    args?:
      | { by?: number | bigint | undefined }
      | readonly [by?: number | bigint],
  ): number | bigint;
};

/** A box, and perhaps what is in it. */
export type BoxArgument = {
  label: string;
  corner?: readonly [number | bigint, number | bigint | Float] | undefined;
  inside?: BoxArgument | undefined;
};

/** A box, and perhaps what is in it. */
export type BoxResult = {
  label: string;
  corner?: [number | bigint, number];
  inside?: BoxResult;
};

export type Labelled = { label: string };
