import { closeSync, readSync, writeSync } from "node:fs";
import { openPage } from "./page-file.ts";

const WORD_BYTES = 8;
const PAGE_WORDS = 512;
const OVER_AT = 0;
const FIRST_MARK = 1;
const MARKS = PAGE_WORDS - FIRST_MARK;

/**
 * A page of shared memory in which a worker that takes several calls at once notes which of them it began
 * (python/src/snakepit_bridge/calls/memory/call_page.py).
 */
export class BegunMarks {
	#file: number | undefined;

	private constructor(file: number) {
		this.#file = file;
	}

	/** Opens the file that the worker made; `undefined` when there is none. */
	static open(path: string): BegunMarks | undefined {
		const file = openPage(path);
		return file === undefined ? undefined : new BegunMarks(file);
	}

	/** The conversation is over: no further call begins. Returns the calls that have not begun. */
	end<Call extends { readonly number: number }>(
		calls: readonly Call[],
	): ReadonlySet<Call> {
		const begun = this.#close();
		return new Set(
			begun === undefined
				? []
				: calls.filter(
						({ number }) =>
							(begun[FIRST_MARK + (number % MARKS)] as bigint) < BigInt(number),
					),
		);
	}

	/** Returns the words of the page after the last call that can begin; `undefined` if they are not certain. */
	#close(): BigUint64Array | undefined {
		const file = this.#file;
		if (file === undefined) return undefined;
		this.#file = undefined;
		const words = new BigUint64Array(PAGE_WORDS);
		try {
			// The order matters: the worker does both in the opposite order.
			writeSync(file, BigUint64Array.of(1n), 0, WORD_BYTES, OVER_AT);
			const read = readSync(file, words, 0, words.byteLength, 0);
			return read === words.byteLength ? words : undefined;
		} catch {
			return undefined;
		} finally {
			closeSync(file);
		}
	}
}
