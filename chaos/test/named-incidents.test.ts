import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openRun } from "@snakepit/core";
import { readHistory } from "@snakepit/core/inspect";
import { EventRecorder } from "@snakepit/core/testing";
import { expect, onTestFinished, test } from "vitest";
import { removePlace } from "../../scripts/remove-place.ts";
import { rows } from "../../scripts/test-effort.ts";
import type {
	ProtectionName,
	WorkerOptions,
} from "../programs/worker-adapter.ts";
import { HostProcess } from "../src/harness/host-process.ts";
import { end, lives, look } from "../src/harness/process-table.ts";

const TOOLS = fileURLToPath(new URL("programs/untied.py", import.meta.url));
type Preload = NonNullable<WorkerOptions["preload"]>;

const SIZE = 2;
const DEADLINE_MS = 30_000;

interface Spawned {
	readonly pid: number;
	readonly incarnation: string;
}

/** Waits for a state that nothing reports. */
async function eventually(what: string, isSo: () => boolean): Promise<void> {
	const deadline = performance.now() + DEADLINE_MS;
	while (!isSo()) {
		if (performance.now() > deadline)
			throw new Error(`Not within ${DEADLINE_MS} ms: ${what}.`);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

function isStopped(pid: number): boolean {
	const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
	return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
}

/** A host of stopped workers, each with a child: the pids of the children by those of their workers. */
async function hostOfUntied(
	dataDir: string,
	preload: Preload,
	protections: readonly ProtectionName[],
): Promise<{ host: HostProcess; children: ReadonlyMap<number, number> }> {
	const notes = join(dataDir, "notes");
	mkdirSync(notes);
	const host = new HostProcess(
		{
			dataDir,
			worker: "python",
			program: TOOLS,
			size: SIZE,
			preload,
			protections,
		},
		{ env: { CHAOS_STAGE: dataDir } },
	);
	onTestFinished(() => void host.kill());
	await host.fact("ready");
	host.call("untie", { directory: notes });
	await eventually("every note", () => readdirSync(notes).length === SIZE);
	const pairs = readdirSync(notes).map((name) => name.split("-").map(Number));
	const children = new Map(pairs as [number, number][]);
	await eventually("every stop", () => [...children.keys()].every(isStopped));
	return { host, children };
}

test.skipIf(process.platform !== "linux").each(
	rows<[string, Preload, readonly ProtectionName[]]>(
		[
			["a guard", "tools", ["guard"]],
			[
				"a guard, the preloaded parent gone first",
				{ modules: ["numpy"] },
				["guard"],
			],
			["a watchdog", "tools", ["watchdog"]],
			["guard and watchdog", "tools", ["guard", "watchdog"]],
			[
				"guard and watchdog, workers that were not forked",
				"off",
				["guard", "watchdog"],
			],
		],
		// The one with most, and the one in which two layers take the same process for theirs.
		([how]) => how === "guard and watchdog" || how.startsWith("a guard, the"),
	),
)(
	"what ended the processes of a killed host names each once, and by its own incarnation: %s",
	{ timeout: 120_000 },
	async (_how, preload, protections) => {
		const dataDir = mkdtempSync(join(tmpdir(), "snakepit-test-"));
		onTestFinished(() => removePlace(dataDir));
		const { host, children } = await hostOfUntied(
			dataDir,
			preload,
			protections,
		);
		const workers = host.facts<Spawned>("worker.spawned");
		const incarnations = new Map<number, string>();
		for (const { pid, incarnation } of workers) {
			incarnations.set(pid, incarnation);
			incarnations.set(children.get(pid) ?? 0, incarnation);
		}
		const doomed = [...incarnations.keys()].flatMap((pid) => look(pid) ?? []);
		expect(doomed).toHaveLength(2 * SIZE);
		onTestFinished(() => doomed.forEach(end));
		if (preload === "tools") {
			const [parent] = host.facts<{ readonly pid: number }>("preload.started");
			const seen = look(parent?.pid ?? 0);
			if (seen === undefined) throw new Error("There is no preloaded parent.");
			doomed.push(seen);
			process.kill(seen.pid, "SIGSTOP");
			await eventually("the parent's stop", () => isStopped(seen.pid));
		}
		const layers = host
			.facts<{ readonly pid: number }>("protection.started")
			.flatMap(({ pid }) => look(pid) ?? []);
		expect(layers).toHaveLength(protections.length);

		host.kill();
		await eventually(
			"the end of all",
			() => ![...doomed, ...layers].some(lives),
		);

		const events = new EventRecorder();
		const { record } = events;
		const run = await openRun({ dataDir, onEvent: record });
		await run.close();
		const killed = events.of("protection.process_killed");
		const pids = killed.map(({ pid }) => pid);
		expect(pids.toSorted()).toEqual([...new Set(pids)].toSorted());
		const [, dead] = await Array.fromAsync(readHistory({ dataDir }));
		for (const { identity, incarnation } of dead?.workers ?? [])
			if (identity !== undefined) incarnations.set(identity.pid, incarnation);
		for (const { pid, incarnation } of killed)
			expect(incarnation).toBe(incarnations.get(pid));
		expect(pids).toEqual(expect.arrayContaining(doomed.map(({ pid }) => pid)));

		for (const { protection, killed: count } of events.of(
			"protection.run_settled",
		))
			expect(count).toBe(
				killed.filter((each) => each.protection === protection).length,
			);
		expect(events.of("orphan.reaped")).toEqual([]);
		expect(dead?.killed).toBe(killed.length);
		for (const { pid, incarnation } of workers)
			expect(
				dead?.workers.find((worker) => worker.incarnation === incarnation),
			).toMatchObject({
				identity: { pid },
				end: { reason: "reaped", killer: "protection" },
			});
	},
);
