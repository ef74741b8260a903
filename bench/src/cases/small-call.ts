import { type Case, least, lower, ratio } from "../case.ts";
import { bareGrpc, bareName } from "../contestants/bare-grpc.ts";
import { textEcho } from "../contestants/contestant.ts";
import { framedSocket } from "../contestants/framed-socket.ts";
import { ourName, ours } from "../contestants/ours.ts";
import { peers } from "../contestants/peers.ts";
import { rowOf } from "../contestants/row-of.ts";
import { measureLatency } from "../measure/latency.ts";

export const SMALL_TEXT: string = "x".repeat(100);

const grpc = ourName("gRPC");
const framed = ourName("framed");
const bare = bareName();

export const smallCall: Case = {
	name: "small-call",
	title: "A small call, one at a time",
	about:
		"One worker echoes a text of 100 characters, one call after the other. Snakepit and the peers transfer values; the limit and the bare way transfer only bytes. The host's processor time per call includes all of Node's threads.",
	figures: {
		p50_us: lower("p50", "us"),
		p99_us: lower("p99", "us"),
		host_cpu_us: lower("host CPU a call", "us"),
	},
	plot: "p50_us",
	rows: [
		framedSocket,
		bareGrpc("threads"),
		bareGrpc("asyncio"),
		...ours("sync"),
		...ours("async"),
		...peers,
	].map((contestant) =>
		rowOf(contestant, { workers: 1, inFlight: 1 }, async (line, { pace }) => {
			const echo = textEcho(line);
			if ((await echo(SMALL_TEXT)) !== SMALL_TEXT)
				throw new Error("the echo is not what was sent");
			return await measureLatency(() => echo(SMALL_TEXT), pace);
		}),
	),
	aims: [
		ratio("gRPC: p50 against bare unary gRPC", "p50_us", [grpc, bare], {
			atMost: 0.6,
		}),
		ratio("gRPC: p99 against bare unary gRPC", "p99_us", [grpc, bare], {
			atMost: 0.7,
		}),
		ratio("framed: p50 against bare unary gRPC", "p50_us", [framed, bare], {
			atMost: 0.2,
		}),
		{
			text: "framed: p50 against the best peer that calls Python",
			unit: "x",
			atMost: 1,
			value: (of) => {
				const ofPeers = peers
					.filter(({ name }) => !name.includes("JavaScript"))
					.map(({ name }) => of(name, "p50_us"));
				return of(framed, "p50_us") / least(ofPeers);
			},
		},
		...Object.entries({ framed, gRPC: grpc }).map(([name, row]) =>
			ratio(`${name}: p50 as a multiple of the limit`, "p50_us", [
				row,
				framedSocket.name,
			]),
		),
	],
};
