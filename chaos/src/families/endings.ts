import { setTimeout as sleep } from "node:timers/promises";
import type { ProgramEnd } from "../../programs/host.ts";
import {
	ALONE,
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
	unless,
} from "../case.ts";
import type { HostExit, HostProcess } from "../harness/host-process.ts";
import type { Stage } from "../harness/stage.ts";

const SIZE = 2;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** How a program ends by itself, and what it should exit with. */
const ENDS: readonly (readonly [ProgramEnd, name: string, HostExit])[] = [
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

export const endings: readonly ChaosCase[] = family(
	"the host ends in other ways",
	[ALONE, GUARD],
	[
		...[
			...ENDS.map(([how, name, exit]) => ({
				...{ name, exit },
				end: (host: HostProcess) => host.order("end", how),
			})),
			...SIGNALS.map((signal) => ({
				name: signal,
				exit: { code: null, signal },
				end: (host: HostProcess) => host.child.kill(signal),
			})),
		].map(({ name, exit, end }) => ({
			name,
			rounds: 5,
			parallel: 2,
			round: (stage: Stage) => endsWith(stage, exit, end),
		})),
		{
			name: "two random signals, up to 300 ms apart, workers that ignore SIGTERM; the time is from the second",
			rounds: 20,
			selected: 1,
			// A second signal ends everything at once.
			target: { maxMs: 50 },
			round: twoSignals,
		},
	],
);

async function endsWith(
	stage: Stage,
	wanted: HostExit,
	end: (host: HostProcess) => unknown,
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: SIZE });
	await stage.sees("worker", SIZE);
	end(host);
	const exit = await host.exited;
	const { leftovers } = await stage.untilGone(performance.now());
	return { leftovers, broken: compared(exit, [wanted]) };
}

async function twoSignals(stage: Stage): Promise<RoundOutcome> {
	const host = await stage.ready({
		worker: "shell",
		size: SIZE,
		events: ["host.signal_received"],
	});
	await stage.sees("worker", SIZE);
	const [first, second] = [
		stage.chance.pick(SIGNALS),
		stage.chance.pick(SIGNALS),
	];
	host.child.kill(first);
	await host.fact("host.signal_received");
	await sleep(stage.chance.fraction() * 300);
	const at = performance.now();
	host.child.kill(second);
	const exit = await host.exited;
	const exitedMs = performance.now() - at;
	const { goneMs, leftovers } = await stage.untilGone(at);
	return {
		// The host may be a few milliseconds longer than its workers.
		goneMs: Math.max(goneMs, exitedMs),
		leftovers,
		broken: compared(
			exit,
			[first, second].map((signal) => ({ code: null, signal })),
		),
	};
}

function compared(
	exit: HostExit,
	allowed: readonly HostExit[],
): readonly string[] {
	const text = ({ code, signal }: HostExit): string => signal ?? `code ${code}`;
	const wanted = allowed.map(text);
	return unless(
		wanted.includes(text(exit)),
		`It ended with ${text(exit)} instead of ${wanted.join(" or ")}.`,
	);
}
