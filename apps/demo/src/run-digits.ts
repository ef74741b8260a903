import type { Pool, PoolStatistics } from "@snakepit/core";
import { Answers } from "./answers.ts";
import type { Display } from "./display.ts";
import type { Tools } from "./gen/digits.ts";
import { type Healing, killOneWorker } from "./kill-one-worker.ts";

/** What came of reading every image. */
export interface Outcome {
	readonly answers: Answers;
	/** From the first question to the last answer, the worker's death within. */
	readonly durationMs: number;
	readonly healing: Healing;
	readonly statistics: PoolStatistics;
}

/** How often an image may be read again when the worker that reads it dies. */
const RETRIES = 2;

/** Has every image read by itself, and kills a worker when half of the answers are there. */
export async function runDigits(
	pool: Pool<Tools>,
	display: Display,
): Promise<Outcome> {
	const images = await Array.fromAsync(pool.stream("images"));
	const answers = new Answers(images.length);
	const half = Math.ceil(images.length / 2);
	const halfWay = Promise.withResolvers<void>();
	const begunMs = performance.now();
	const tookMs = () => performance.now() - begunMs;

	const reading = images.map(async ({ pixels, group, shows }, index) => {
		const read = await pool.execute(
			"read",
			{ pixels, group },
			{ idempotentRetries: RETRIES },
		);
		answers.add(index, read === shows);
		if (answers.given === half) halfWay.resolve();
		display.progress({
			doing: "reading digits",
			done: answers.given,
			total: answers.images,
			perSecond: (1_000 * answers.given) / tookMs(),
		});
	});
	const [durationMs, healing] = await Promise.all([
		Promise.all(reading).then(tookMs),
		halfWay.promise.then(() =>
			killOneWorker(pool, (line) => display.say(line)),
		),
	]);
	return { answers, durationMs, healing, statistics: pool.statistics() };
}
