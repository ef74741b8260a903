import { crc32 } from "node:zlib";
import { NdArray } from "@snakepit/adapter-grpc-python";
import { type Pool, SnakepitError } from "@snakepit/core";
import { Chance } from "./chance.ts";

/** The results of many calls with large values. */
export interface ValuesReport {
	/** Values that were compared with what was sent. */
	readonly compared: number;
	/** Values that differed from what was sent, each in a few words. */
	readonly wrong: readonly string[];
	/** Calls by how they ended: a code, or `ok`. */
	readonly endings: Readonly<Record<string, number>>;
}

const AT_ONCE = 6;
/** Answers that the host keeps, and checks again later. */
const KEPT = 8;
/** Sizes below, around and well above the size from which values are shared. */
const SIZES: readonly number[] = [1e3, 7e4, 3e5, 1e6, 3e6, 6e6];
const DEADLY = 0.015;

/**
 * Calls the tools of `value_tools.py` in random order, several at once. Cancels some calls, gives some too little time,
 * loses workers, and compares every byte by checksum.
 */
export async function callWithLargeValues(
	pool: Pool,
	seed: number,
	calls: number,
): Promise<ValuesReport> {
	const chance = new Chance(seed);
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

	function value() {
		const bytes = new Uint8Array(chance.pick(SIZES) + chance.below(64));
		// Random enough that no two values have the same checksum by accident.
		for (let at = 0; at < bytes.length; at += 997)
			bytes[at] = chance.below(256);
		const array = new NdArray("uint8", [bytes.length], bytes);
		return { bytes, array, sum: crc32(bytes) };
	}

	function limits() {
		const signal = AbortSignal.timeout(1 + chance.below(60));
		const timeoutMs = 1 + chance.below(80);
		return {
			...(chance.of(0.15) ? { signal } : {}),
			...(chance.of(0.1) ? { timeoutMs } : {}),
		};
	}

	const execute = (tool: string, ...args: unknown[]) =>
		pool.execute(tool, args, limits());
	const seconds = () => chance.fraction() * 0.05;

	/** Tools that return the array, or its checksum. */
	const returns =
		(tool: string, ...more: (() => number)[]) =>
		async (): Promise<void> => {
			const { array, sum } = value();
			const args = more.map((argument) => argument());
			compare(tool, await execute(tool, array, ...args), sum);
		};
	const returnsBoth = (tool: string) => async (): Promise<void> => {
		const { bytes, array, sum } = value();
		const both = await execute(tool, bytes, array, seconds());
		for (const each of both as unknown[]) compare(tool, each, sum);
	};
	async function echo(): Promise<void> {
		const { bytes, sum } = value();
		const answer = (await execute("echo", bytes)) as Uint8Array;
		compare("echo", answer, sum);
		kept.push({ bytes: answer, sum });
		if (kept.length > KEPT) kept.splice(chance.below(KEPT), 1);
	}
	async function reverse(): Promise<void> {
		const { bytes, array, sum } = value();
		const reversed = crc32(Uint8Array.from(bytes).reverse());
		compare("reverse", await execute("reverse", array), reversed);
		compare("the caller's own array", bytes, sum);
	}
	async function produce(): Promise<void> {
		const [items, first] = [1 + chance.below(6), chance.below(200)];
		const size = chance.pick(SIZES) + chance.below(64);
		const wanted = chance.of(0.5) ? items : Math.ceil(items / 2);
		let number = 0;
		const stream = pool.stream("produce", [items, size, first], limits());
		for await (const item of stream) {
			const expected = new Uint8Array(size).fill((first + number) % 251);
			compare("produce", item, crc32(expected));
			if (++number === wanted) return;
		}
	}
	const operations: readonly (() => Promise<unknown>)[] = [
		echo,
		echo,
		reverse,
		produce,
		returns("echo_array"),
		returns("checksum"),
		returns("keep"),
		returns("leave_to_thread", seconds),
		returns("fork", seconds),
		returnsBoth("hold_both"),
		returnsBoth("await_both"),
		async () => wrong.push(...((await execute("changed")) as string[])),
		() => execute("fail", value().array),
	];

	async function many(): Promise<void> {
		while (left-- > 0) {
			const one = chance.of(DEADLY)
				? () => execute("die")
				: chance.pick(operations);
			const ending = await one().then(() => "ok", codeOf);
			endings[ending] = (endings[ending] ?? 0) + 1;
		}
	}

	await Promise.all(Array.from({ length: AT_ONCE }, many));
	for (const { bytes, sum } of kept)
		compare("an answer that the host kept", bytes, sum);
	return { compared, wrong, endings };
}

/** @throws Any other error than those that a call may end with. */
function codeOf(error: unknown): string {
	if (error instanceof SnakepitError) return error.code;
	throw error;
}
