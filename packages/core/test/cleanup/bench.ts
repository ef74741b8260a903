import { join } from "node:path";
import { onTestFinished } from "vitest";
import { endGroup } from "../../../../scripts/end-host.ts";
import { testMark } from "../../../../scripts/test-mark.ts";
import { ProcessKiller } from "../../src/cleanup/process-killer.ts";
import type { ReaperParts } from "../../src/cleanup/reaper.ts";
import {
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
	type Observation,
	type ProcessIdentity,
	type RunId,
} from "../../src/contract/identity.ts";
import type { StartedProcess } from "../../src/contract/world.ts";
import type { SnapshotHost } from "../../src/os/descendants.ts";
import { systemClock } from "../../src/os/system-clock.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { loadSqlite, type Sqlite } from "../../src/registry/sqlite.ts";
import { EventRecorder } from "../../src/testing.ts";
import { machine, temporaryDirectory } from "./hosts.ts";

export const sqlite: Sqlite = await loadSqlite();

/** The run that cleans up in tests without a host of its own. */
export const CLAIMANT = "yyyyyyy" as RunId;

/** Everything that a reaper of this very process needs, in a directory of its own. */
export function reaperBench(
	fields: Partial<ReaperParts> = {},
): ReaperParts & { readonly events: EventRecorder; readonly dataDir: string } {
	const dataDir = temporaryDirectory();
	const events = new EventRecorder();
	return {
		sqlite,
		directory: new LedgerDirectory(dataDir),
		host: machine,
		clock: systemClock,
		claimant: { kind: "reaper", runId: CLAIMANT, report: events.record },
		killer: new ProcessKiller(machine, systemClock),
		strategy: undefined,
		emit: events.record,
		events,
		dataDir,
		...fields,
	};
}

/** The real machine, seen differently. */
export function seenAs(fields: Partial<SnapshotHost>): SnapshotHost {
	const other = Object.create(machine) as SnapshotHost;
	// Private fields are the real one's: its methods are called on it.
	for (const name of [
		"observe",
		"facts",
		"members",
		"marked",
		"snapshot",
		"ancestors",
		"descendants",
		"halted",
		"signal",
		"signalGroup",
		"holdsNumber",
		"remove",
		"createDirectory",
		"keepAlive",
	] as const)
		Object.defineProperty(other, name, {
			value: (machine[name] as () => unknown).bind(machine),
			writable: true,
		});
	return Object.assign(other, fields);
}

/** A host that cannot read one process. */
export function blindTo(identity: Pick<ProcessIdentity, "pid">): SnapshotHost {
	return seenAs({
		observe: (pid: number): Observation =>
			pid === identity.pid ? "unknown" : machine.observe(pid),
	});
}

/** Starts a program of the bestiary, and resolves when it is up. Ended with its group when the test is over. */
export async function start(
	habit: string,
	marker?: string,
	incarnation?: string,
): Promise<StartedProcess> {
	const program = join(import.meta.dirname, "../bestiary", habit);
	const isNode = habit.endsWith(".cjs");
	const process_ = await machine.source.start(
		{
			executable: isNode ? process.execPath : program,
			args: isNode ? [program] : [],
			env: {
				PATH: process.env["PATH"] ?? "",
				...testMark(),
				...(marker === undefined ? {} : { [MARKER_VARIABLE]: marker }),
				...(incarnation === undefined
					? {}
					: { [INCARNATION_VARIABLE]: incarnation }),
			},
			cwd: undefined,
			stdin: "empty",
			control: false,
		},
		() => {},
	);
	const { identity } = process_;
	let known: readonly ProcessIdentity[] = [];
	onTestFinished(() => endGroup(machine, identity, known));
	const release = machine.keepAlive();
	await new Promise((resolve) => process_.stdout.once("data", resolve));
	release();
	// A test may end the leader, and a child without a mark is known only from here.
	known = machine.members(identity.pid).map((member) => member.identity);
	return process_;
}
