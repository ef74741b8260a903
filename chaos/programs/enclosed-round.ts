// One round in a private pid namespace: `enclosed-round.ts NAME PIDS SEED`. Prints its outcome as JSON.
import { setTimeout as sleep } from "node:timers/promises";
import { type RoundOutcome, unless } from "../src/case.ts";
import { assertEnclosed } from "../src/harness/isolation.ts";
import { look } from "../src/harness/process-table.ts";
import { Stage } from "../src/harness/stage.ts";
import type { RecycledPath } from "./recycled-pids/paths.ts";

assertEnclosed();
const [name = "", pids, seed] = process.argv.slice(2);
const outcome =
	name === "reuse-a-pid"
		? await reuseAPid()
		: await recycle(name as RecycledPath, Number(pids));
console.log(JSON.stringify(outcome));
// Processes that a scene leaves running end with the namespace.
process.exit();

/** The next process gets the pid of a worker that is gone. */
async function reuseAPid(): Promise<RoundOutcome> {
	await using stage = await Stage.open(Number(seed), []);
	const dead = await stage.ready({ worker: "shell", size: 2 });
	const [pid = 0] = await dead.workers();
	await stage.killWithItsWorkers(dead);
	// Its pid is free when it has been reaped.
	while (look(pid)) await sleep(2);
	const stranger = await stage.bystander(pid);
	if (stranger.pid !== pid)
		throw new Error(`The stranger got ${stranger.pid} instead of ${pid}.`);
	const next = await stage.ready({ size: 1 });
	const { deadRuns } = await next.fact<{ deadRuns: number }>(
		"cleanup.finished",
	);
	return {
		wrongKills: stage.wrongKills,
		broken: unless(deadRuns === 1, `It found ${deadRuns} dead runs.`),
		...(await stage.killAfterwards(next)),
	};
}

/** How many pids foreign processes get of processes that Snakepit is about to signal. */
async function recycle(
	path: RecycledPath,
	count: number,
): Promise<RoundOutcome> {
	const { SCENES } = await import("./recycled-pids/scenes.ts");
	const { Strangers } = await import("./recycled-pids/strangers.ts");
	using strangers = new Strangers();
	for (let rounds = 0; strangers.recycled < count; rounds++) {
		if (rounds === count)
			throw new Error(
				`Only ${strangers.recycled} of ${count} pids were reused.`,
			);
		await SCENES[path](strangers);
		strangers.count();
	}
	return { wrongKills: strangers.killed };
}
