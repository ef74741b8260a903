import type { Pool } from "@snakepit/core";
import type { Display } from "./display.ts";
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

/** Has every image read by a call of its own, and calls `atHalf` when half of the answers are there. */
export async function readDigits(
	pool: Pool<Tools>,
	display: Display,
	atHalf: () => void,
): Promise<Answers> {
	const images = await Array.fromAsync(pool.stream("images"));
	const answers = new Uint32Array(images.length);
	let done = 0;
	let right = 0;
	const begunMs = performance.now();

	const reading = images.map(async ({ pixels, group, shows }, index) => {
		const read = await pool.execute(
			"read",
			{ pixels, group },
			// If its worker dies, the call is made again on another one.
			{ retry: { attempts: 3 } },
		);
		answers[index] = (answers[index] ?? 0) + 1;
		done += 1;
		if (read === shows) right += 1;
		if (done === Math.ceil(images.length / 2)) atHalf();
		display.progress({
			done,
			total: images.length,
			perSecond: (1_000 * done) / (performance.now() - begunMs),
		});
	});
	await Promise.all(reading);
	return {
		images: images.length,
		once: answers.filter((times) => times === 1).length,
		right,
		durationMs: performance.now() - begunMs,
	};
}
