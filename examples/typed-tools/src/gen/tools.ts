// Made by `python -m snakepit_bridge types tools.py`.

import type { PlainDate } from "@snakepit/adapter-python";

/** What each tool takes, and what it returns if it keeps to its annotations. */
export type Tools = {
  /** Says what an order costs, and how long it takes. */
  quote(args: { order: Order } | readonly [order: Order]): Quote;
  /** Yields the products of a size, or all. */
  products(
    args?:
      | { size?: "small" | "large" | null | undefined }
      | readonly [size?: "small" | "large" | null],
  ): AsyncIterable<Product>;
};

/**
 * What a customer wants.
 *
 * Constraints: `lines: list[Line] (length >= 1)`.
 */
export type Order = {
  id: string;
  lines: readonly Line[];
  payment: Card | Invoice;
  wantedOn?: PlainDate | null | undefined;
};

/** Constraints: `quantity: int (>= 1, <= 100)`. */
export type Line = { product: string; quantity?: number | bigint | undefined };

/** Constraints: `number: str (matching '^\\d{16}$')`. */
export type Card = { kind: "card"; number: string };

export type Invoice = { kind: "invoice"; payableWithin?: string | undefined };

export type Quote = {
  orderId: string;
  net: string;
  delivery: string;
  gross: string;
};

export type Product = { name: string; size: "small" | "large"; price: string };
