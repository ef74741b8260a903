import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { Stage } from "../harness/stage.ts";
import { ALONE, BOTH, GUARD, WATCHDOG, withLayers } from "./layers.ts";

const SIZE = 2;

/** From which fact on the moment is drawn, and how far it may be. */
const WINDOWS = [
	{ after: undefined, withinMs: 800 },
	{ after: "run.started", withinMs: 150 },
	{ after: "worker.spawned", withinMs: 40 },
	{ after: "worker.spawned", withinMs: 800 },
] as const;

const sketch = {
	row: "SIGKILL of the host at a random moment of start-up",
	name: "2 Python workers",
	parallel: 4,
	round: killStartingHost,
};

export const startUp: readonly ChaosCase[] = [
	withLayers(ALONE, { ...sketch, rounds: 1_000, selected: 2 }),
	withLayers(WATCHDOG, { ...sketch, rounds: 50 }),
	withLayers(GUARD, { ...sketch, rounds: 50 }),
	withLayers(BOTH, { ...sketch, rounds: 50, selected: 1 }),
];

/** The moment follows a fact that the host told, so that every part of the start has its share. */
async function killStartingHost(stage: Stage): Promise<RoundOutcome> {
	const { after, withinMs } =
		WINDOWS[Math.floor(stage.random.fraction() * WINDOWS.length)] ?? WINDOWS[0];
	const delayMs = stage.random.fraction() * withinMs;
	const host = stage.start({ size: SIZE });
	if (after) await host.told(after);
	await sleep(delayMs);
	return await stage.untilGone(host.kill());
}
