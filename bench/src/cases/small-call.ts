import { type Case, lower } from "../case.ts";
import { bareGrpc } from "../contestants/bare-grpc.ts";
import { rowOf, textEcho } from "../contestants/contestant.ts";
import { framedSocket } from "../contestants/limits.ts";
import { ours } from "../contestants/ours.ts";
import { peers } from "../contestants/peers.ts";
import { measureLatency } from "../measure.ts";

export const SMALL_TEXT: string = "x".repeat(100);

export const smallCall: Case = {
	name: "small-call",
	title: "A small call, one at a time",
	about:
		"One worker echoes a text of 100 characters, one call after the other; the limit and the bare way transfer only bytes.",
	figures: {
		p50_us: lower("p50", "us"),
		p99_us: lower("p99", "us"),
		host_cpu_us: lower("host CPU a call", "us"),
	},
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
};
