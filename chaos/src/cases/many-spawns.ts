import { fileURLToPath } from "node:url";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { Stage } from "../harness/stage.ts";
import { vitalSigns } from "../harness/vital-signs.ts";
import { ALONE, BOTH, withLayers } from "./layers.ts";

const QUICK = fileURLToPath(
	new URL("../../programs/quick-worker.sh", import.meta.url),
);
const SIZE = 8;
/** What the host holds of a worker that is starting or leaving beside one that stays. */
const STARTING_DESCRIPTORS = 4;
/** What the second half of the lives may add to what the host holds. */
const HEAP_GROWTH_MB = 3;
/** So long it may hold what starts and ends of workers need, on a busy machine. */
const CALM_MS = 20_000;
/** And to its resident memory, of which V8 takes more than it holds: when it collects is its own affair. */
const RESIDENT_GROWTH_MB = 120;

const sketch = (lives: number) => ({
	row: "many workers, one after the other",
	name: `${lives} spawns and ends: no zombie, no descriptor more, memory flat`,
	rounds: 1,
	round: (stage: Stage) => spawnAndEnd(stage, lives),
});

export const manySpawns: readonly ChaosCase[] = [
	withLayers(ALONE, { ...sketch(200), selected: 1 }),
	withLayers(ALONE, sketch(10_000)),
	withLayers(BOTH, sketch(1_000)),
];

/** Workers are replaced after a call each; calls go on until enough have ended. */
async function spawnAndEnd(stage: Stage, lives: number): Promise<RoundOutcome> {
	const host = await stage.ready(
		{
			worker: "shell",
			program: QUICK,
			size: SIZE,
			pool: { recycle: { afterCalls: 1 } },
		},
		{ nodeArguments: ["--expose-gc"] },
	);
	const broken: string[] = [];
	const ended = (): number => host.all("worker.exited").length;
	const until = async (count: number): Promise<void> => {
		while (ended() < count) await host.call("anything");
	};
	const heap = async (): Promise<number> => {
		host.order({ measure: "heap" });
		return await host.next<number>("heapMb");
	};
	await until(lives / 2);
	const heapBefore = await heap();
	const before = vitalSigns(host.pid);
	await until(lives);
	let heapAfter = await heap();
	const after = vitalSigns(host.pid);
	// What workers need that are just starting or leaving is given back when they have.
	const deadline = performance.now() + CALM_MS;
	while (
		heapAfter > heapBefore + HEAP_GROWTH_MB &&
		performance.now() < deadline
	)
		heapAfter = await heap();
	if (heapAfter > heapBefore + HEAP_GROWTH_MB)
		broken.push(
			`${heapAfter.toFixed(1)} MB held after ${heapBefore.toFixed(1)} MB.`,
		);
	// One that ended this very moment is about to be collected.
	if (after.zombies > SIZE) broken.push(`${after.zombies} zombies.`);
	if (after.descriptors > before.descriptors + STARTING_DESCRIPTORS * SIZE)
		broken.push(
			`${after.descriptors} descriptors after ${before.descriptors}.`,
		);
	if (after.residentMb > before.residentMb + RESIDENT_GROWTH_MB)
		broken.push(
			`${Math.round(after.residentMb)} MB after ${Math.round(before.residentMb)} MB.`,
		);
	return { broken, ...(await stage.killAfterwards(host)) };
}
