import { fileURLToPath } from "node:url";
import { type ChaosCase, family, GUARD, type RoundOutcome } from "../case.ts";
import type { Stage } from "../harness/stage.ts";

const TOOLS = fileURLToPath(
	new URL("../../programs/value_tools.py", import.meta.url),
);
const CALLS = 400;

export const largeValues: readonly ChaosCase[] = family(
	"large values arrive complete and do not change, however the calls around them end",
	[GUARD],
	(["grpc", "framed"] as const).flatMap((transport) =>
		[1, 3].map((callsPerWorker) => ({
			name: `${transport}: cancelled, out of time, crashed, forked, kept; calls a worker: ${callsPerWorker}`,
			rounds: 3,
			...(transport === "framed" && callsPerWorker > 1 && { selected: 1 }),
			round: (stage: Stage) => callWithValues(stage, transport, callsPerWorker),
		})),
	),
);

export const randomLives: readonly ChaosCase[] = family(
	"every call ends once, and in a way that is allowed, under random use of pools",
	[GUARD],
	[
		{ pools: 2, generations: 1, calls: 80, selected: 1 },
		{ pools: 3, generations: 7, calls: 150 },
	].map(({ pools, generations, calls, ...selected }) => ({
		...selected,
		name: `sessions, streams, back-calls, retries, recycling, crashes, a close at any moment; pools: ${pools * generations}`,
		rounds: 3,
		round: (stage: Stage) => liveAtRandom(stage, { pools, generations, calls }),
	})),
);

async function callWithValues(
	stage: Stage,
	transport: "grpc" | "framed",
	callsPerWorker: number,
): Promise<RoundOutcome> {
	const host = await stage.ready({
		size: 2,
		transport,
		program: TOOLS,
		// Tries again soon, and again and again.
		pool: { start: { maxRestarts: 100_000, backoffMs: 10 }, callsPerWorker },
	});
	const { compared, wrong, endings } = await host.order(
		"values",
		stage.chance.below(2 ** 31),
		CALLS,
	);
	if (compared < CALLS / 4)
		throw new Error(`Only ${compared} values were compared.`);
	// Otherwise, the round has not tested its promise.
	assertHappened(endings, ["CALL_TIMEOUT", "WORKER_EXITED"]);
	return {
		broken: wrong.map((what) => `Not as it was: ${what}.`),
		...(await stage.killAfterwards(host)),
	};
}

async function liveAtRandom(
	stage: Stage,
	wanted: { pools: number; generations: number; calls: number },
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: 1 });
	const seed = stage.chance.below(2 ** 31);
	const { endings, wrong } = await host.order("lives", { seed, ...wanted });
	// One pool alone may be closed before much has happened.
	if (wanted.generations > 1) assertHappened(endings, ["left", "TOOL_FAILED"]);
	return {
		broken: wrong.map((what) => `Seed ${seed}: ${what}.`),
		...(await stage.killAfterwards(host)),
	};
}

function assertHappened(
	endings: Readonly<Record<string, number>>,
	wanted: readonly string[],
): void {
	const missing = ["ok", "CALL_ABORTED", ...wanted].filter(
		(ending) => !endings[ending],
	);
	if (missing.length > 0)
		throw new Error(
			`No call ended as ${missing.join(", ")}: ${JSON.stringify(endings)}`,
		);
}
