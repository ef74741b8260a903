import { crc32 } from "node:zlib";
import { NdArray } from "@snakepit/adapter-grpc-python";
import { type Pool, SnakepitError } from "@snakepit/core";
import { SeededRandom } from "@snakepit/core/testing";

/** What came of many calls with large values. */
export interface ValuesReport {
	/** Values that were compared with what was sent. */
	readonly compared: number;
	/** What was not as it was sent, each in a few words. */
	readonly wrong: readonly string[];
	/** Calls by how they ended: a code, or `ok`. */
	readonly endings: Readonly<Record<string, number>>;
}

const AT_ONCE = 6;
/** Answers that the host keeps, and looks at again. */
const KEPT = 8;
/** Below what is shared, about it, and well above. */
const SIZES: readonly number[] = [1e3, 7e4, 3e5, 1e6, 3e6, 6e6];
const OPERATIONS = [
	"echo",
	"echo",
	"echo_array",
	"checksum",
	"reverse",
	"keep",
	"changed",
	"hold_both",
	"await_both",
	"leave_to_thread",
	"fork",
	"fail",
	"produce",
] as const;

/**
 * Calls the tools of `value_tools.py` in any order, several at once, cancels some,
 * gives some too little time, loses workers, and compares every byte by checksum.
 */
export async function callWithLargeValues(
	pool: Pool,
	seed: number,
	calls: number,
): Promise<ValuesReport> {
	const random = new SeededRandom(seed);
	const below = (most: number): number => Math.floor(random.fraction() * most);
	const pick = <T>(all: readonly T[]): T => all[below(all.length)] as T;
	const kept: { readonly bytes: Uint8Array; readonly sum: number }[] = [];
	const wrong: string[] = [];
	const endings: Record<string, number> = {};
	let compared = 0;
	let left = calls;

	function compare(what: string, got: unknown, sum: number): void {
		compared++;
		const bytes = got instanceof NdArray ? got.data : got;
		const found = typeof bytes === "number" ? bytes : crc32(bytes as Buffer);
		if (found !== sum) wrong.push(what);
	}

	function value(): Uint8Array {
		const bytes = new Uint8Array(pick(SIZES) + below(64));
		// Dense enough that no two values have the same checksum by chance.
		for (let at = 0; at < bytes.length; at += 997) bytes[at] = below(256);
		return bytes;
	}

	function limits() {
		const signal = AbortSignal.timeout(1 + below(60));
		const timeoutMs = 1 + below(80);
		return {
			...(random.fraction() < 0.15 ? { signal } : {}),
			...(random.fraction() < 0.1 ? { timeoutMs } : {}),
		};
	}

	async function one(): Promise<void> {
		const bytes = value();
		const sum = crc32(bytes);
		const array = new NdArray("uint8", [bytes.length], bytes);
		const seconds = random.fraction() * 0.05;
		const operation = random.fraction() < 0.015 ? "die" : pick(OPERATIONS);
		const execute = (...args: unknown[]) =>
			pool.execute(operation, args, limits());
		switch (operation) {
			case "echo": {
				const answer = (await execute(bytes)) as Uint8Array;
				compare(operation, answer, sum);
				kept.push({ bytes: answer, sum });
				if (kept.length > KEPT) kept.splice(below(KEPT), 1);
				return;
			}
			case "echo_array":
			case "checksum":
			case "keep":
				return compare(operation, await execute(array), sum);
			case "reverse": {
				const reversed = crc32(Uint8Array.from(bytes).reverse());
				compare(operation, await execute(array), reversed);
				return compare("the caller's own array", bytes, sum);
			}
			case "hold_both":
			case "await_both": {
				const both = (await execute(bytes, array, seconds)) as unknown[];
				for (const each of both) compare(operation, each, sum);
				return;
			}
			case "leave_to_thread":
			case "fork":
				return compare(operation, await execute(array, seconds), sum);
			case "changed":
				wrong.push(...((await execute()) as string[]));
				return;
			case "produce":
				return await consume(1 + below(6), bytes.length, below(200));
			case "fail":
				await execute(array);
				return;
			case "die":
				await execute();
		}
	}

	async function consume(
		items: number,
		size: number,
		first: number,
	): Promise<void> {
		const wanted = random.fraction() < 0.5 ? items : Math.ceil(items / 2);
		let number = 0;
		const stream = pool.stream("produce", [items, size, first], limits());
		for await (const item of stream) {
			const expected = new Uint8Array(size).fill((first + number) % 251);
			compare("produce", item, crc32(expected));
			if (++number === wanted) return;
		}
	}

	async function many(): Promise<void> {
		while (left-- > 0) {
			const ending = await one().then(() => "ok", codeOf);
			endings[ending] = (endings[ending] ?? 0) + 1;
		}
	}

	await Promise.all(Array.from({ length: AT_ONCE }, many));
	for (const { bytes, sum } of kept)
		compare("an answer that the host kept", bytes, sum);
	return { compared, wrong, endings };
}

/** @throws What is none of the errors that a call may end with. */
function codeOf(error: unknown): string {
	if (error instanceof SnakepitError) return error.code;
	throw error;
}
