// Made by `python -m snakepit_bridge types tables.py`.

import type { NdArray, PlainDateTime } from "@snakepit/adapter-python";
import type { Table as ArrowTable } from "apache-arrow";

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  from_pandas(): ArrowTable;
  from_polars(): ArrowTable;
  from_pyarrow(): ArrowTable;
  from_batch(): ArrowTable;
  as_pandas(
    args:
      | { table: ArrowTable }
      | readonly [table: ArrowTable],
  ): string[];
  as_polars(
    args:
      | { table: ArrowTable }
      | readonly [table: ArrowTable],
  ): string[];
  as_pyarrow(
    args:
      | { table: ArrowTable; batch?: ArrowTable | null | undefined }
      | readonly [table: ArrowTable, batch?: ArrowTable | null],
  ): number | bigint;
  kind_of(args: { value: unknown } | readonly [value: unknown]): string;
  mirrored(args: { value: unknown } | readonly [value: unknown]): unknown;
  indexed(): ArrowTable;
  index_of(
    args:
      | { table: ArrowTable }
      | readonly [table: ArrowTable],
  ): string[];
  with_field_object(): ArrowTable;
  frames(
    args:
      | { count: number | bigint }
      | readonly [count: number | bigint],
  ): AsyncIterable<ArrowTable>;
  refused(args: { what: string } | readonly [what: string]): unknown;
  times(): unknown[];
  later(
    args:
      | { times: NdArray }
      | readonly [times: NdArray],
  ): Array<Date | PlainDateTime>;
  doubled(
    args:
      | {
          tensor: NdArray | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint16Array | Uint32Array | BigUint64Array | Float32Array | Float64Array;
        }
      | readonly [
          tensor: NdArray | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint16Array | Uint32Array | BigUint64Array | Float32Array | Float64Array,
        ],
  ): NdArray;
  of_complex(): NdArray;
  /** Returns four columns, as a table or as a list of dicts. */
  rows(
    args:
      | { count: number | bigint; as_records: boolean }
      | readonly [count: number | bigint, as_records: boolean],
  ): unknown;
};
