import {
	closeSync,
	constants,
	openSync,
	readSync,
	unlinkSync,
	writeSync,
} from "node:fs";
import { HEADER_BYTES } from "../channel/message-cutter.ts";

/**
 * Opens the file of a page that the worker made (python/src/snakepit_bridge/calls/memory/call_page.py), and removes its name:
 * it is gone when both sides have closed it. `undefined` if there is none.
 */
function openPage(path: string): number | undefined {
	const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;
	let file: number | undefined;
	try {
		file = openSync(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
		unlinkSync(path);
		return file;
	} catch {
		if (file !== undefined) closeSync(file);
		return undefined;
	}
}

const WORD_BYTES = 8;
const BEGUN_AT = 0;
const TAKEN_AT = 8;
const KEPT_AT = 16;
const ANSWERS_AT = 24;
const ANSWERS_BYTES = 4096 - ANSWERS_AT;
const ROUND = 65_536n;
/** How often the kept answers are read again while the worker writes them. The worker is then about to send something. */
const MOST_READS = 3;
/** The number of the call that stays is less than this below the last one that is recalled. */
const REACH = 64;

/**
 * A page of shared memory in which a worker notes the number of the call that it began last, before it checks whether
 * this program took that call back. It also keeps answers that wait to be sent with the next ones. This side reads and
 * writes through the descriptor: on Linux, that is the memory that the worker has mapped.
 */
export class CallPage {
	readonly #word = new BigUint64Array(1);
	#file: number | undefined;

	private constructor(file: number) {
		this.#file = file;
	}

	/** Opens the file that the worker made; `undefined` when there is none. */
	static open(path: string): CallPage | undefined {
		const file = openPage(path);
		return file === undefined ? undefined : new CallPage(file);
	}

	/**
	 * Takes back all calls up to `last` but for `kept`, which counts as running; at most 63 below it.
	 *
	 * @returns the number of the call that began last: those above it, up to `last`, have not begun and never will. One
	 * that is not above it, and does not run, is answered as recalled. `undefined` when nothing is certain.
	 */
	recall(kept: number | undefined, last: number): number | undefined {
		const distance = kept === undefined ? 0 : last - kept;
		if (this.#file === undefined || distance >= REACH) return undefined;
		this.#word[0] = BigInt(last) * BigInt(REACH) + BigInt(distance);
		try {
			// The order matters: the worker does both in the opposite order.
			writeSync(this.#file, this.#word, 0, WORD_BYTES, TAKEN_AT);
			const read = readSync(this.#file, this.#word, 0, WORD_BYTES, BEGUN_AT);
			return read === WORD_BYTES ? Number(this.#word[0]) : undefined;
		} catch {
			return undefined;
		}
	}

	/** The answers that the worker has finished and may not have sent, each a frame; none while it is writing them. */
	kept(): readonly Uint8Array[] {
		for (let reads = 0; reads < MOST_READS; reads++) {
			const before = this.#read(KEPT_AT);
			const answers = Buffer.alloc(Number(before % ROUND));
			if (!this.#fill(answers)) break;
			if (this.#read(KEPT_AT) / ROUND === before / ROUND)
				return framesOf(answers);
		}
		return [];
	}

	/** The word there; 0 if it cannot be read. */
	#read(at: number): bigint {
		this.#word[0] = 0n;
		if (this.#file !== undefined)
			try {
				readSync(this.#file, this.#word, 0, WORD_BYTES, at);
			} catch {
				return 0n;
			}
		return this.#word[0];
	}

	#fill(answers: Buffer): boolean {
		const { length } = answers;
		if (this.#file === undefined || length === 0 || length > ANSWERS_BYTES)
			return false;
		try {
			return readSync(this.#file, answers, 0, length, ANSWERS_AT) === length;
		} catch {
			return false;
		}
	}

	close(): void {
		if (this.#file === undefined) return;
		closeSync(this.#file);
		this.#file = undefined;
	}
}

/** Cuts the kept answers into frames. The worker wrote them, so a length that does not fit ends the reading. */
function framesOf(answers: Buffer): readonly Uint8Array[] {
	const frames: Uint8Array[] = [];
	let at = 0;
	while (at + HEADER_BYTES <= answers.length) {
		const begin = at + HEADER_BYTES;
		at = begin + answers.readUInt32BE(begin - 4);
		if (at > answers.length) break;
		frames.push(answers.subarray(begin, at));
	}
	return frames;
}

const PAGE_WORDS = 512;
const OVER_AT = 0;
const FIRST_MARK = 1;
const MARKS = PAGE_WORDS - FIRST_MARK;

/**
 * A page of shared memory in which a worker that takes several calls at a time notes which of them it began
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

/** Opens the page in which a worker notes which calls it began; `undefined` if there is none. */
export function openCallNotes(
	path: string | undefined,
	callsPerWorker: number,
): {
	readonly callPage: CallPage | undefined;
	readonly begunMarks: BegunMarks | undefined;
} {
	const isThere = path !== undefined;
	const takesOne = callsPerWorker === 1;
	return {
		callPage: isThere && takesOne ? CallPage.open(path) : undefined,
		begunMarks: isThere && !takesOne ? BegunMarks.open(path) : undefined,
	};
}
