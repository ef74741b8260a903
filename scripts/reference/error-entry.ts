import type { ErrorCode } from "@snakepit/core";

/** What the reference says of one code. */
export interface Entry {
	readonly thrown: string;
	readonly ran: "no" | "maybe" | "no or maybe";
	readonly meaning: string;
	readonly remedy: string;
}

export type Entries = Readonly<Partial<Record<ErrorCode, Entry>>>;
