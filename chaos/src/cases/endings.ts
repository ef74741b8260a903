import { setTimeout as sleep } from "node:timers/promises";
import type { HostOrder } from "../../programs/orders.ts";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { HostExit, HostProcess } from "../harness/host-process.ts";
import type { Stage } from "../harness/stage.ts";
import { ALONE, BOTH, withLayers } from "./layers.ts";

const ROW = "the host ends in another way";
const SIZE = 2;
/** A second signal ends everything within this. */
const FORCED_MS = 50;

type Signal = "SIGINT" | "SIGTERM" | "SIGHUP";
const SIGNALS: readonly Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** How a program ends by itself, and what it should exit with. */
const ENDS: readonly (readonly [
	Extract<HostOrder, { end: string }>["end"],
	string,
	HostExit,
])[] = [
	["exit", "process.exit(7)", { code: 7, signal: null }],
	["throw", "an uncaught error", { code: 1, signal: null }],
	["reject", "an unhandled rejection", { code: 1, signal: null }],
	[
		"throw in the exit hook",
		"process.exit(7), and an exit hook of the program throws",
		// What a program without Snakepit exits with, too.
		{ code: 7, signal: null },
	],
	["abort", "process.abort()", { code: null, signal: "SIGABRT" }],
	["run out of work", "nothing left to do", { code: 0, signal: null }],
];

export const endings: readonly ChaosCase[] = [ALONE, BOTH].flatMap(
	(protections) => [
		...ENDS.map(([end, name, exit]) =>
			withLayers(protections, {
				row: ROW,
				name,
				rounds: 5,
				parallel: 2,
				round: (stage) => endsAs(stage, exit, (host) => host.order({ end })),
			}),
		),
		...SIGNALS.map((signal) =>
			withLayers(protections, {
				row: ROW,
				name: signal,
				rounds: 5,
				parallel: 2,
				round: (stage) =>
					endsAs(stage, { code: null, signal }, (host) => {
						host.child.kill(signal);
					}),
			}),
		),
		withLayers(protections, {
			row: ROW,
			name: "two signals, each drawn, up to 300 ms apart, workers that ignore SIGTERM; the time is from the second",
			rounds: 20,
			...(protections === ALONE ? { selected: 1 } : {}),
			target: { maxMs: FORCED_MS },
			round: twoSignals,
		}),
	],
);

async function endsAs(
	stage: Stage,
	wanted: HostExit,
	end: (host: HostProcess) => void,
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: SIZE });
	await stage.sees("worker", SIZE);
	end(host);
	const exit = await host.exited;
	const ending = await stage.untilGone(performance.now());
	return { leftovers: ending.leftovers, broken: compared(exit, wanted) };
}

async function twoSignals(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({
		worker: "shell",
		size: SIZE,
		events: ["host.signal_received"],
	});
	await stage.sees("worker", SIZE);
	const draw = (): Signal =>
		SIGNALS[Math.floor(stage.random.fraction() * SIGNALS.length)] ?? "SIGINT";
	const [first, second] = [draw(), draw()];
	host.child.kill(first);
	await host.told("host.signal_received");
	await sleep(stage.random.fraction() * 300);
	const at = performance.now();
	host.child.kill(second);
	const exit = await host.exited;
	const exitedMs = performance.now() - at;
	const ending = await stage.untilGone(at);
	// The host may be a few milliseconds longer than its workers.
	const goneMs = Math.max(ending.goneMs, exitedMs);
	return {
		goneMs,
		leftovers: ending.leftovers,
		broken: compared(exit, { code: null, signal: first }, second),
	};
}

function compared(
	exit: HostExit,
	wanted: HostExit,
	orSignal: Signal | null = wanted.signal as Signal | null,
): readonly string[] {
	const fits =
		exit.code === wanted.code &&
		(exit.signal === wanted.signal || exit.signal === orSignal);
	const text = ({ code, signal }: HostExit): string => signal ?? `code ${code}`;
	return fits
		? []
		: [`It ended with ${text(exit)} instead of ${text(wanted)}.`];
}
