import { accessSync, constants, realpathSync } from "node:fs";
import type { SparedRun } from "../cleanup/cleanup-report.ts";
import { judgeOwner, ownerOf } from "../cleanup/run-claim.ts";
import type { RunId } from "../contract/identity.ts";
import type { MarkedProcess } from "../contract/world.ts";
import type { ProcessSnapshot, SnapshotHost } from "../os/descendants.ts";
import { knownDirectories } from "../os/known-directories.ts";
import { runsOfOthers } from "../os/runs-of-others.ts";
import {
	findStateDirectory,
	stateDirectoryProblem,
} from "../os/state-directory.ts";
import { thisMachine } from "../os/this-machine.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { runPath } from "../registry/run-name.ts";
import { loadSqlite } from "../registry/sqlite.ts";
import type { FoundDeadRun, LivingRun } from "./dead-runs.ts";
import { lookAsReaper } from "./look-as-reaper.ts";

/** What one data directory has. */
export interface DirectoryView {
	/** Its real path. */
	readonly dataDir: string;
	/** `"default"`: programs of this user have their ledger there unless they say otherwise. */
	readonly origin: "default" | "named";
	readonly living: readonly LivingRun[];
	readonly dead: readonly FoundDeadRun[];
	/** Runs that cannot be judged from here. */
	readonly unclear: readonly SparedRun[];
}

/** A ledger, or the file of one run, that this user cannot read. */
export interface UnreadableLedger {
	readonly path: string;
	readonly reason: string;
}

/** A run in none of the data directories, whose processes show it. */
export interface RunElsewhere {
	readonly runId: RunId;
	/** Of its program. */
	readonly pid: number;
	/** `"dead"`: the program is gone, and these processes of it are left. */
	readonly program: "lives" | "dead";
	readonly halted: LivingRun["halted"];
	/** Its workers and what they started, as far as this user can see. */
	readonly processes: readonly number[];
}

/** A run of another user. */
export interface RunOfAnother {
	readonly runId: string;
	readonly uid: number;
	/** Its private directory, which this user cannot look into. */
	readonly directory: string;
	/** Whether something listens in it; where that cannot be asked, a program that was killed may have left it. */
	readonly lives: "yes" | "unknown";
}

/** What runs on this machine, and what is left of programs that were killed, as far as this user can see. */
export interface Surroundings {
	readonly directories: readonly DirectoryView[];
	readonly unreadable: readonly UnreadableLedger[];
	readonly elsewhere: readonly RunElsewhere[];
	readonly ofOthers: readonly RunOfAnother[];
}

/**
 * Looks for programs of Snakepit that live, and for those that were killed. Changes nothing.
 *
 * @param dataDir only this one; by default, that of the user, those that programs have chosen themselves, `others`, and
 *   everything that has no ledger here: programs in other data directories, and those of other
 *   users.
 * @throws StartError `PLATFORM_UNSUPPORTED`, `NODE_TOO_OLD` or `OUT_OF_DESCRIPTORS`; RegistryError `REGISTRY_UNSUPPORTED`.
 */
export async function lookAround(
	dataDir: string | undefined,
	others: readonly string[] = [],
): Promise<Surroundings> {
	const host = thisMachine();
	const snapshot = host.snapshot();
	const unreadable: UnreadableLedger[] = [];
	const paths = new Map<string, DirectoryView["origin"]>();
	for (const asked of dataDir === undefined
		? [undefined, ...others, ...knownDirectories(host.self.machineId)]
		: [dataDir]) {
		const state = stateDirectoryProblem(asked, host.self.machineId);
		if (state.kind === "unreadable") unreadable.push(state);
		else if (state.kind === "found") {
			const path = realpathSync(state.path);
			const origin = asked === undefined ? "default" : "named";
			if (!paths.has(path)) paths.set(path, origin);
		}
	}
	const directories: DirectoryView[] = [];
	for (const [path, origin] of paths) {
		const directory = new LedgerDirectory(path, "look");
		const found = await lookAsReaper(loadSqlite, directory, host, snapshot);
		unreadable.push(...unreadableFiles(directory, found.living));
		directories.push({ dataDir: path, origin, ...found });
	}
	if (dataDir !== undefined)
		return { directories, unreadable, elsewhere: [], ofOthers: [] };
	const known = new Set(
		directories.flatMap(({ living, dead }) =>
			[...living, ...dead].map(({ runId }) => runId),
		),
	);
	return {
		...{ directories, unreadable },
		elsewhere: runsElsewhere(snapshot, host, known),
		ofOthers: runsOfOthers(),
	};
}

/**
 * The data directories that programs of this user have chosen themselves (`dataDir`) and that are still there, the last
 * used first. Programs whose `control` is off, or whose home could not be written, are not among them. Changes nothing.
 *
 * @throws StartError `PLATFORM_UNSUPPORTED` or `OUT_OF_DESCRIPTORS`.
 */
export function chosenDataDirectories(): readonly string[] {
	const { machineId } = thisMachine().self;
	const usual = findStateDirectory(undefined, machineId);
	const usualPath = usual === undefined ? undefined : realpathSync(usual);
	return knownDirectories(machineId).filter((path) => path !== usualPath);
}

/** The files of living runs that cannot be read: those of dead ones are among the unclear runs. */
function unreadableFiles(
	directory: LedgerDirectory,
	living: readonly LivingRun[],
): readonly UnreadableLedger[] {
	return directory.openRuns().flatMap((name) => {
		if (living.every(({ runId }) => runId !== name.runId)) return [];
		const path = runPath(directory.runs, name, "db");
		const reason = refusal(path);
		return reason === undefined ? [] : [{ path, reason }];
	});
}

function refusal(path: string): string | undefined {
	try {
		accessSync(path, constants.R_OK);
		return undefined;
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		return code === "ENOENT" ? undefined : message;
	}
}

function runsElsewhere(
	{ marked, guards }: Pick<ProcessSnapshot, "marked" | "guards">,
	host: SnapshotHost,
	known: ReadonlySet<string>,
): readonly RunElsewhere[] {
	const byRun = Map.groupBy(
		[...marked, ...guards].filter(({ marker }) => !known.has(marker.runId)),
		({ marker }) => `${marker.runId} ${marker.directoryKey} ${marker.hostPid}`,
	);
	return [...byRun.values()].flatMap((processes) => {
		const [first] = processes;
		return first === undefined ? [] : runElsewhere(first, processes, host);
	});
}

function runElsewhere(
	{ marker }: MarkedProcess,
	processes: readonly MarkedProcess[],
	host: SnapshotHost,
): readonly RunElsewhere[] {
	const { runId, hostPid } = marker;
	const observation = host.observe(hostPid);
	const owner = ownerOf(marker, host.self);
	const verdict = judgeOwner(owner, host.self, observation);
	const isAlive =
		typeof verdict === "object" && verdict.spared === "owner_alive";
	if (!isAlive && verdict !== "dead") return [];
	return [
		{
			...{ runId, pid: hostPid, program: isAlive ? "lives" : "dead" },
			halted: isAlive ? host.halted(owner) : "no",
			processes: processes.map(({ identity }) => identity.pid),
		},
	];
}
