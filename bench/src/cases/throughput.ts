import { type Case, higher, type Row } from "../case.ts";
import { bareGrpc } from "../contestants/bare-grpc.ts";
import { type Contestant, rowOf, textEcho } from "../contestants/contestant.ts";
import { framedSocket } from "../contestants/limits.ts";
import { ours } from "../contestants/ours.ts";
import { peers } from "../contestants/peers.ts";
import { measureThroughput } from "../measure.ts";
import { SMALL_TEXT } from "./small-call.ts";

const IN_FLIGHT = [16, 64];
const WORKERS = [1, 2, 4];
/** One Python, however many workers are asked for. */
const ONLY_ONE = ["pythonia", "node-calls-python"];

export const throughput: Case = {
	name: "throughput",
	title: "Small calls, many at a time",
	about:
		"The same text with 16 and 64 calls under way, over 1, 2 and 4 workers, with an ordinary function and with `async def`.",
	figures: Object.fromEntries(
		IN_FLIGHT.map((inFlight) => [
			figureOf(inFlight),
			higher(`${inFlight} in flight`, "calls/s"),
		]),
	),
	rows: WORKERS.flatMap((workers) =>
		[
			framedSocket,
			bareGrpc("threads"),
			bareGrpc("asyncio"),
			...ours("sync"),
			...ours("async"),
			...peers.filter(
				({ needs }) => workers === 1 || !ONLY_ONE.includes(needs?.peer ?? ""),
			),
		].map((contestant) => rowFor(contestant, workers)),
	),
};

function figureOf(inFlight: number): string {
	return `calls_per_s_${inFlight}`;
}

function named(name: string, workers: number): string {
	return `${name}, ${workers} ${workers === 1 ? "worker" : "workers"}`;
}

function rowFor(contestant: Contestant, workers: number): Row {
	const amount = { workers, inFlight: Math.max(...IN_FLIGHT) };
	const row = rowOf(contestant, amount, async (line, { pace }) => {
		const echo = textEcho(line);
		const figures: Record<string, number> = {};
		for (const inFlight of IN_FLIGHT)
			figures[figureOf(inFlight)] = await measureThroughput(
				() => echo(SMALL_TEXT),
				inFlight,
				pace,
			);
		return figures;
	});
	return { ...row, name: named(contestant.name, workers) };
}
