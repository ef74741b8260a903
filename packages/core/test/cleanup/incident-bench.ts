import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { ReapedProcess } from "../../src/cleanup/cleanup-report.ts";
import {
	type ClaimOutcome,
	claimRun,
	type RunClaim,
	type Settlement,
} from "../../src/cleanup/run-claim.ts";
import type { ProcessIdentity, RunId } from "../../src/contract/identity.ts";
import { readRunFile } from "../../src/registry/history.ts";
import type { Incident } from "../../src/registry/incidents.ts";
import { runPath } from "../../src/registry/run-name.ts";
import { type reaperBench, sqlite } from "./bench.ts";
import {
	type CraftedRun,
	craftRun,
	deadOwner,
	workerRow,
} from "./crafted-run.ts";

export const NOTHING: Settlement = {
	reaped: [],
	spared: [],
	ends: [],
	complete: true,
};

type Bench = ReturnType<typeof reaperBench>;

export function detected(ofRun: RunId, wallMs = 5): Incident {
	return {
		type: "protection.host_death_detected",
		wallMs,
		protection: "watchdog",
		ofRun,
		pid: 70,
	};
}

/** A dead run with a private directory, one worker, and what a guard wrote. */
export async function runOfAGuard(bench: Bench): Promise<CraftedRun> {
	const base = join(bench.dataDir, "temporary");
	mkdirSync(base);
	const crafted = await craftRun(bench.dataDir, deadOwner(), {}, (runId) => [
		workerRow(runId, {
			identity: deadOwner({ pid: 4_194_302, startTime: "1" }),
		}),
	]);
	const { runId } = crafted.name;
	const directory = join(base, `snakepit-${runId}-abcdef`);
	mkdirSync(directory, { mode: 0o700 });
	const killed: Incident = {
		type: "protection.process_killed",
		wallMs: 7,
		protection: "guard",
		ofRun: runId,
		pid: 4_194_302,
		startTime: "1",
		incarnation: `${runId}-1`,
		foundBy: "descent",
		signal: "SIGKILL",
	};
	writeFileSync(
		join(directory, "incidents.guard.jsonl"),
		`${JSON.stringify(killed)}\nnonsense\n`,
	);
	const database = new Database(crafted.path);
	database.prepare("update runs set directory = ?").run(directory);
	database.close();
	return { ...crafted, run: { ...crafted.run, directory } };
}

export function reaped(ofRun: RunId, identity: ProcessIdentity): ReapedProcess {
	const { pid } = identity;
	const incarnation = `${ofRun}-1`;
	return {
		ofRun,
		pid,
		identity,
		incarnation,
		how: "killed",
		foundBy: "ledger",
	};
}

export function claimOf(outcome: ClaimOutcome): RunClaim {
	if (outcome.kind !== "claimed") throw new Error(`It is ${outcome.kind}.`);
	return outcome.claim;
}

/** Claims as the run's own watchdog. */
export function claimAsWatchdog(bench: Bench, crafted: CraftedRun): RunClaim {
	const { name } = crafted;
	const claimant = { kind: "watchdog", runId: name.runId } as const;
	return claimOf(claimRun({ ...bench, claimant }, name));
}

export function reported(bench: Bench): readonly unknown[] {
	return bench.events.events.filter(({ type }) =>
		type.startsWith("protection."),
	);
}

export function historyOf(bench: Bench, { name }: CraftedRun): unknown {
	const path = runPath(bench.directory.history, name, "db");
	return readRunFile(sqlite, path, name);
}
