import { setTimeout as sleep } from "node:timers/promises";
import {
	type Case,
	type Figures,
	higher,
	lower,
	type Setting,
} from "../case.ts";
import { bareGrpc } from "../contestants/bare-grpc.ts";
import {
	type Contestant,
	type Line,
	rowOf,
} from "../contestants/contestant.ts";
import { framedSocket } from "../contestants/limits.ts";
import { ours } from "../contestants/ours.ts";

const SMALL = 100;
const LARGE = 65_536;
const SLOW_ITEMS = 20;
const SLOW_MS = 20;

export const streams: Case = {
	name: "streams",
	title: "A stream from Python",
	about: `The items of a generator, of ${SMALL} bytes and of 64 KB, read as fast as they arrive; and how many items it is ahead of a reader that takes one every ${SLOW_MS} ms.`,
	figures: {
		small_items_s: higher("small items", "items/s"),
		large_mb_s: higher("64 KB items", "MB/s"),
		ahead: lower("ahead of a slow reader", "items"),
	},
	rows: [framedSocket, bareGrpc(), ...ours()].map((contestant) =>
		rowOf(
			contestant,
			{ workers: 1, inFlight: 1 },
			async ({ stream, produced }, setting) => {
				if (stream === undefined) throw new TypeError("it has no streams");
				const { measureMs } = setting.pace;
				const small = await itemsPerSecond(stream, SMALL, measureMs);
				const large = await itemsPerSecond(stream, LARGE, measureMs);
				return {
					small_items_s: small,
					large_mb_s: (large * LARGE) / 1_000_000,
					...(produced === undefined
						? {}
						: await slowReader(contestant, setting)),
				};
			},
		),
	),
};

type Stream = NonNullable<Line["stream"]>;

/** How many items of a size a stream yields in a second, measured for a while after a warm-up. */
export async function itemsPerSecond(
	stream: Stream,
	size: number,
	ms: number,
): Promise<number> {
	const guess = await timed(stream, 500, size);
	// A warm-up that also says how many items fill the time.
	return await timed(stream, Math.ceil((guess * ms) / 1000), size);
}

async function timed(
	stream: Stream,
	items: number,
	size: number,
): Promise<number> {
	const begin = performance.now();
	let got = 0;
	for await (const item of stream(items, size)) {
		if (item.length !== size) throw new Error(`an item of ${item.length}`);
		got++;
	}
	if (got !== items) throw new Error(`${got} of ${items} items came`);
	return (items * 1000) / (performance.now() - begin);
}

async function slowReader(
	{ open }: Contestant,
	setting: Setting,
): Promise<Figures> {
	// A second call asks how far the generator is, while that runs.
	const amount = { workers: 1, inFlight: 1, callsPerWorker: 2 };
	await using line = await open({ ...setting, ...amount });
	const { stream, produced } = line;
	if (stream === undefined || produced === undefined) return {};
	let taken = 0;
	let ahead = 0;
	for await (const item of stream(1_000_000, LARGE)) {
		if (item.length !== LARGE) throw new Error(`an item of ${item.length}`);
		taken++;
		await sleep(SLOW_MS);
		ahead = Math.max(ahead, (await produced()) - taken);
		if (taken === SLOW_ITEMS) break;
	}
	return { ahead };
}
