import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PYTHON } from "../../programs/worker-adapter.ts";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import { namespacesUnavailable, PID_NAMESPACE } from "../harness/enclosed.ts";
import type { HostSetting } from "../harness/host-process.ts";
import { end, everyProcess, lives } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";
import { programBehind } from "../harness/stage-processes.ts";
import { ALONE, BOTH, withLayers } from "./layers.ts";

const SIZE = 2;
/** Long enough for whatever looks at its parent now and then. */
const WATCHED_MS = 3_000;
const ENDED_MS = 5_000;
const program = (name: string): string =>
	fileURLToPath(new URL(`../../programs/${name}`, import.meta.url));

interface Place {
	readonly name: string;
	readonly setting: Partial<HostSetting>;
	readonly unavailable?: () => string | undefined;
	readonly selected?: number;
}

const PLACES: readonly Place[] = [
	{
		name: "the host is the first process of its pid namespace",
		setting: { before: PID_NAMESPACE },
		unavailable: namespacesUnavailable,
		selected: 1,
	},
	{
		name: "the host is under a subreaper",
		setting: { before: [PYTHON, program("subreaper.py")] },
	},
	{
		name: "the host is behind sh",
		setting: { before: ["sh", "-c", '"$@"; exit $?', "sh"] },
	},
	{
		name: "the host is behind npx",
		setting: { before: ["npx", "--no-install", "--offline"], node: "node" },
	},
	{
		name: "the pool is in a worker thread of the host",
		setting: { program: program("thread-host.ts") },
		selected: 1,
	},
];

export const settings: readonly ChaosCase[] = [ALONE, BOTH].flatMap(
	(protections) =>
		PLACES.map(({ name, setting, unavailable, selected }) => {
			const sketch = withLayers(protections, {
				row: "where the host runs: nothing ends itself, and SIGKILL leaves nothing",
				name,
				rounds: 10,
				parallel: 5,
				...(protections === ALONE && selected ? { selected } : {}),
				round: (stage) => killInPlace(stage, setting),
			});
			return {
				...sketch,
				unavailable: () => sketch.unavailable?.() ?? unavailable?.(),
			};
		}),
);

async function killInPlace(
	stage: Stage,
	setting: Partial<HostSetting>,
): Promise<RoundOutcome> {
	const outer = await stage.ready({ size: SIZE }, setting);
	await stage.sees("worker", SIZE);
	await sleep(WATCHED_MS);
	const falseKills =
		stage.witness.seen("worker") -
		stage.witness.living("worker").length +
		outer.all("worker.exited").length;
	const host = programBehind(outer, stage);
	const at = performance.now();
	end(host);
	const ending = await stage.untilGone(
		at,
		everyProcess().filter(({ pid }) => pid === outer.pid),
	);
	// The first process of a namespace ends after all others of it.
	while (lives(host) && performance.now() - at < ENDED_MS) await sleep(5);
	return { ...ending, falseKills, broken: lives(host) ? ["It lives."] : [] };
}
