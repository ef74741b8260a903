import { join } from "node:path";
import {
	type PythonEnvironment,
	pythonEnvironment,
} from "@snakepit/adapter-python";
import type { Pool } from "@snakepit/core";
import type { Tools } from "./gen/digits.ts";

/** What came of the calls. */
export interface Answers {
	readonly images: number;
	/** How many images were answered exactly once. */
	readonly once: number;
	/** How many answers were right. */
	readonly right: number;
	/** From the first question to the last answer. */
	readonly durationMs: number;
}

/** The Python environment of the workers: scikit-learn, the bridge of this repository, and `more` requirements. */
export function digitsEnvironment(
	more: readonly string[] = [],
): PythonEnvironment {
	const bridge = join(import.meta.dirname, "../../../python");
	return pythonEnvironment({
		requirements: ["scikit-learn>=1.5,<2", bridge, ...more],
	});
}

/** Has every image read by a call of its own, and calls `atHalf` when half of the answers are there. */
export async function readDigits(
	pool: Pool<Tools>,
	atHalf: () => void,
): Promise<Answers> {
	const images = await Array.fromAsync(pool.stream("images"));
	const answers = new Uint32Array(images.length);
	let done = 0;
	let right = 0;
	const startedMs = performance.now();

	const reading = images.map(async ({ pixels, group, shows }, index) => {
		const digit = await pool.execute(
			"read",
			{ pixels, group },
			// If its worker dies, the call is made again on another one.
			{ retry: { attempts: 3 } },
		);
		answers[index] = (answers[index] ?? 0) + 1;
		done += 1;
		if (digit === shows) right += 1;
		if (done === Math.ceil(images.length / 2)) atHalf();
		const tenths = Math.floor((10 * done) / images.length);
		if (tenths > Math.floor((10 * (done - 1)) / images.length))
			console.log(progressLine(tenths, done, images.length));
	});
	await Promise.all(reading);
	return {
		images: images.length,
		once: answers.filter((times) => times === 1).length,
		right,
		durationMs: performance.now() - startedMs,
	};
}

function progressLine(tenths: number, done: number, total: number): string {
	const percent = `${10 * tenths}`.padStart(3);
	return `${percent} %  reading digits: ${count(done)} of ${count(total)}`;
}

/** Reads the percentage from a line of progress; `undefined` for any other line. */
export function percentOf(line: string): number | undefined {
	const [, percent] = /^ *(\d+) % {2}reading/.exec(line) ?? [];
	return percent === undefined ? undefined : Number(percent);
}

/** Prints what came of the calls, a fact a line. */
export function printAnswers({
	images,
	once,
	right,
	durationMs,
}: Answers): void {
	const perSecond = counted((1_000 * images) / durationMs, "image");
	const accuracy = ((100 * right) / images).toFixed(1);
	printFact(
		"answered",
		`${count(once)} of ${counted(images, "image")} exactly once`,
	);
	printFact(
		"accuracy",
		`${accuracy} %, ${count(images - right)} wrong; no classifier was trained on what it read`,
	);
	printFact("throughput", `${perSecond}/s, ${duration(durationMs)} in all`);
}

export function printFact(name: string, value: string): void {
	console.log(`${name.padEnd(13)}${value}`);
}

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** `1,797` */
export function count(value: number): string {
	return grouped.format(value);
}

/** `1 process`, `2 processes` */
export function counted(value: number, one: string, many = `${one}s`): string {
	return `${count(value)} ${value === 1 ? one : many}`;
}

/** `0.4 ms`, `12 ms`, `1.3 s` */
export function duration(ms: number): string {
	if (ms < 9.95) return `${ms.toFixed(1)} ms`;
	return ms < 999.5 ? `${ms.toFixed(0)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
