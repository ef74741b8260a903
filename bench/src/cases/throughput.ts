import { type Case, higher, type Lookup, most, type Row } from "../case.ts";
import { bareGrpc, bareName } from "../contestants/bare-grpc.ts";
import { type Contestant, textEcho } from "../contestants/contestant.ts";
import { framedSocket } from "../contestants/framed-socket.ts";
import { ourName, ours } from "../contestants/ours.ts";
import { peers } from "../contestants/peers.ts";
import { rowOf } from "../contestants/row-of.ts";
import { measureThroughput } from "../measure/latency.ts";
import { SMALL_TEXT } from "./small-call.ts";

const IN_FLIGHT = [16, 64];
const WORKERS = [1, 2, 4];
/** How many calls a second one worker is to answer. */
const RATES = [
	{ variant: "gRPC", mode: "sync", inFlight: 16, atLeast: 12_000 },
	{ variant: "framed", mode: "sync", inFlight: 16, atLeast: 60_000 },
	{ variant: "framed", mode: "sync", inFlight: 64, atLeast: 100_000 },
	{ variant: "framed", mode: "async", inFlight: 16, atLeast: 60_000 },
] as const;
const MODES = ["sync", "async"] as const;
const OF_MODE = { sync: "an ordinary function", async: "async def" };
/** One Python, however many workers are asked for. */
const ONLY_ONE = ["pythonia", "node-calls-python"];

export const throughput: Case = {
	name: "throughput",
	title: "Small calls, many at a time",
	about:
		"The same text of 100 characters with 16 and 64 calls under way, over 1, 2 and 4 workers. Snakepit is measured with an ordinary function (one call per worker; the others wait in the pool) and with `async def` (all calls run on the workers at once).",
	figures: Object.fromEntries(
		IN_FLIGHT.map((inFlight) => [
			figureOf(inFlight),
			higher(`${inFlight} in flight`, "calls/s"),
		]),
	),
	plot: figureOf(16),
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
	aims: [
		...IN_FLIGHT.map((inFlight) => aimAgainstBare("gRPC", inFlight, 4)),
		...IN_FLIGHT.map((inFlight) => aimAgainstBare("framed", inFlight, 20)),
		...RATES.map(({ variant, mode, inFlight, atLeast }) => ({
			text: `${variant}, ${OF_MODE[mode]}: 1 worker, ${inFlight} in flight`,
			unit: "calls/s",
			atLeast,
			value: (of: Lookup) => of(ofMode(variant, mode), figureOf(inFlight)),
		})),
		...MODES.flatMap((mode) => [
			{
				text: `framed, ${OF_MODE[mode]}, against pythonia, 1 worker, 16 in flight`,
				unit: "x",
				atLeast: 1,
				value: (of: Lookup) =>
					of(ofMode("framed", mode), figureOf(16)) /
					of(named("pythonia", 1), figureOf(16)),
			},
			{
				text: `framed, ${OF_MODE[mode]}, against the better bare unary gRPC, 1 worker, 16 in flight`,
				unit: "x",
				atLeast: 12,
				value: (of: Lookup) =>
					of(ofMode("framed", mode), figureOf(16)) / bareRate(of, 16),
			},
		]),
		...["gRPC", "framed"].map((variant) => ({
			text: `${variant}: 2 workers against 1, 64 in flight (the host takes a core of its own)`,
			unit: "x",
			value: (of: Lookup) =>
				ofOurs(of, variant, 2, 64) / ofOurs(of, variant, 1, 64),
		})),
	],
};

function figureOf(inFlight: number): string {
	return `calls_per_s_${inFlight}`;
}

function named(name: string, workers: number): string {
	return `${name}, ${workers} ${workers === 1 ? "worker" : "workers"}`;
}

function ofMode(variant: string, mode: (typeof MODES)[number]): string {
	return named(ourName(variant, mode), 1);
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

/** The better of an ordinary function and `async def`. */
function ofOurs(
	of: Lookup,
	variant: string,
	workers: number,
	inFlight: number,
): number {
	const names = [ourName(variant, "sync"), ourName(variant, "async")];
	return most(
		names.map((name) => of(named(name, workers), figureOf(inFlight))),
	);
}

function aimAgainstBare(
	variant: string,
	inFlight: number,
	atLeast: number,
): Case["aims"][number] {
	return {
		text: `${variant}, the better of its tools, against the better bare unary gRPC, 1 worker, ${inFlight} in flight`,
		unit: "x",
		atLeast,
		value: (of) => ofOurs(of, variant, 1, inFlight) / bareRate(of, inFlight),
	};
}

function bareRate(of: Lookup, inFlight: number): number {
	const names = [bareName("threads"), bareName("asyncio")];
	return most(names.map((name) => of(named(name, 1), figureOf(inFlight))));
}
