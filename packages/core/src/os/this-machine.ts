import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { constants, hostname, userInfo } from "node:os";
import { StartError } from "../contract/errors.ts";
import {
	GUARD_VARIABLE,
	INCARNATION_VARIABLE,
	isSameProcess,
	MARKER_VARIABLE,
	type Observation,
	type ProcessIdentity,
	parseMarker,
} from "../contract/identity.ts";
import { withFallback } from "../contract/thrown.ts";
import type {
	MarkedProcess,
	MemoryKill,
	OwnGroup,
	ProcessFacts,
	ProcessHost,
	ProcessSource,
	ProcessSpec,
	SignalOutcome,
	ThreadFacts,
} from "../contract/world.ts";
import { debuggerAttached } from "./debugger.ts";
import {
	type Descendant,
	Descent,
	descendantsOf,
	type ProcessSnapshot,
	type SnapshotHost,
} from "./descendants.ts";
import { rememberedBinary } from "./launcher.ts";
import { bindListener, listenLifeline } from "./listeners.ts";
import { MemoryKills } from "./memory-kills.ts";
import { NodeProcessSource } from "./node-process-source.ts";
import { createPrivateDirectory, removePath } from "./private-directory.ts";
import {
	hasMembers,
	type NumberHolder,
	OwnGroups,
	ProcessGroup,
	sendSignal,
} from "./process-group.ts";
import {
	LinuxProc,
	type ProcessTable,
	PsProcessTable,
	type TableEntry,
} from "./process-table.ts";
import { removeNamedMemory } from "./shared-memory.ts";
import { describedRefusal, outOfDescriptors } from "./spawn-failure.ts";
import { systemClock } from "./system-clock.ts";
import { Echo, KeepAlive } from "./this-program.ts";

let machine: SystemProcessHost | undefined;

/**
 * One for all runs of this process.
 *
 * @throws StartError `PLATFORM_UNSUPPORTED` or `OUT_OF_DESCRIPTORS`.
 */
export function thisMachine(): SystemProcessHost {
	assertPlatform(process.platform);
	try {
		machine ??= new SystemProcessHost();
		return machine;
	} catch (error) {
		throw describedRefusal(error, "The process table cannot be read");
	}
}

/** Importing works everywhere; a pool needs process groups and signals. */
export function assertPlatform(platform: NodeJS.Platform): void {
	if (platform === "linux" || platform === "darwin") return;
	throw new StartError({
		code: "PLATFORM_UNSUPPORTED",
		message: `Pools run on Linux and macOS; this is ${platform}. On Windows use the Windows Subsystem for Linux (WSL 2).`,
	});
}

/** Node's permission model, of a program that was started with `--permission`. */
export interface PermissionModel {
	has(scope: string, reference?: string): boolean;
}

/** What a pool needs of it: the flag that allows it, and how Node names it. */
const NEEDED: readonly (readonly [
	flag: string,
	scope: string,
	path?: string,
])[] = [
	["--allow-child-process", "child"],
	["--allow-addons", "addon"],
	["--allow-net", "net"],
	["--allow-fs-read", "fs.read", "/dev/null"],
	["--allow-fs-write", "fs.write", "/dev/null"],
	...(process.platform === "linux"
		? ([["--allow-fs-read", "fs.read", "/proc"]] as const)
		: []),
];

/**
 * A pool starts programs, loads SQLite, listens on Unix sockets and reads the process table. Without a permission each of
 * these fails in its own way, some of them after the run has been opened.
 *
 * @param permission `undefined` without the permission model: everything is permitted.
 * @param flags those that this Node knows: before 25, the network needs no permission.
 * @throws StartError `PERMISSION_MISSING`.
 */
export function assertPermitted(
	permission: PermissionModel | undefined,
	flags: ReadonlySet<string>,
): void {
	if (permission === undefined) return;
	const missing = NEEDED.filter(
		([flag, scope, path]) => flags.has(flag) && !permission.has(scope, path),
	).map(([flag, , path]) => (path === undefined ? flag : `${flag}=${path}`));
	if (missing.length === 0) return;
	throw new StartError({
		code: "PERMISSION_MISSING",
		message: `This program was started with --permission, but without ${missing.join(", ")}, which pools need. Add ${missing.length === 1 ? "this flag" : "these flags"}, and allow the files that docs/security.md lists. Workers are programs of their own: Node's permission model does not apply to them.`,
	});
}

/**
 * Names this machine: the same text in every program and after every boot,
 * another text on another machine.
 *
 * The system's own identifier is hashed, since it is confidential.
 *
 * Source: machine-id(5), "should be considered confidential".
 */
export function readMachineId(): string {
	return hashed(systemIdentifier() ?? `hostname:${hostname()}`);
}

function hashed(identifier: string): string {
	return createHash("sha256")
		.update(`snakepit:${identifier}`)
		.digest("hex")
		.slice(0, 16);
}

function systemIdentifier(): string | undefined {
	return process.platform === "darwin" ? platformUuid() : machineIdFile();
}

/** Missing, empty or `uninitialized` in many containers. */
function machineIdFile(): string | undefined {
	for (const path of ["/etc/machine-id", "/var/lib/dbus/machine-id"]) {
		try {
			const text = readFileSync(path, "utf8").trim();
			if (/^[0-9a-f]{32}$/.test(text)) return text;
		} catch (error) {
			// Another name would be another machine, and another place of the ledger.
			if (outOfDescriptors(error)) throw error;
			// Not there: the next one.
		}
	}
	return undefined;
}

function platformUuid(): string | undefined {
	const { stdout } = spawnSync(
		"/usr/sbin/ioreg",
		["-rd1", "-c", "IOPlatformExpertDevice"],
		{ encoding: "utf8" },
	);
	return /"IOPlatformUUID" = "([^"]+)"/.exec(stdout ?? "")?.[1];
}

/** The name of the user whose process this is; `undefined` where there is no such process, or it cannot be seen. */
export function userOfProcess(pid: number): string | undefined {
	if (process.platform !== "linux") return undefined;
	return withFallback(undefined, () => {
		const { uid } = statSync(`/proc/${pid}`);
		if (uid === 0) return "root";
		return uid === process.getuid?.() ? ownName(uid) : String(uid);
	});
}

/** A container may have users without a name. */
function ownName(uid: number): string {
	return withFallback(String(uid), () => userInfo().username);
}

/** How far a process is on its way out; `"exiting"`: none of its threads runs any more. */
export type ProcessCondition = "alive" | "exiting" | "gone" | "unknown";

/** This machine, as this process sees it. */
export class SystemProcessHost implements SnapshotHost {
	readonly source: ProcessSource;
	readonly self: ProcessIdentity;
	readonly platform: NodeJS.Platform = process.platform;
	readonly nativeBinary: () => string | undefined = rememberedBinary();
	readonly listenLifeline: ProcessHost["listenLifeline"] = listenLifeline;
	readonly bindListener: ProcessHost["bindListener"] = bindListener;
	readonly #machineId: string;
	readonly #table: ProcessTable;
	readonly #memoryKills = new MemoryKills();
	readonly #ownGroups = new OwnGroups(systemClock, (which) =>
		this.#memoryKills.look(which),
	);
	readonly keepAlive: () => () => void = new KeepAlive().hold;
	readonly #echo = new Echo(process.stderr);

	constructor(
		table: ProcessTable = systemTable(),
		machineId: string = readMachineId(),
	) {
		this.#table = table;
		this.#machineId = machineId;
		const own = table.entry(process.pid);
		if (typeof own === "string")
			throw new StartError({
				code: "PLATFORM_UNSUPPORTED",
				message: `The process table does not show this process itself (pid ${process.pid} is ${own}), so no process could be killed safely. Mount /proc.`,
			});
		this.self = this.#identity(own);
		this.source = new NodeProcessSource({
			identify: (pid) => {
				const entry = table.entry(pid);
				return typeof entry === "string" ? entry : this.#identity(entry);
			},
			ownGroup: (leader, spec) => this.ownGroup(leader, spec),
		});
	}

	ownGroup(leader: ProcessIdentity, spec: Pick<ProcessSpec, "env">): OwnGroup {
		const table = this.#table;
		const group = new ProcessGroup(leader, spec, {
			moment: () => table.moment(),
			holder: (pid) => {
				const entry = table.entry(pid);
				return typeof entry === "string" ? entry : this.#holder(entry);
			},
			holders: (groupId) =>
				table
					.entries()
					.filter((entry) => entry.groupId === groupId || entry.pid === groupId)
					.map((entry) => this.#holder(entry)),
			environment: (pid, variables) => table.environment(pid, variables),
			hasMembers,
			send: sendSignal,
		});
		this.#ownGroups.add(group);
		return group;
	}

	observe(pid: number): Observation {
		const entry = this.#table.entry(pid);
		if (typeof entry === "string") return entry;
		return entry.condition === "zombie" ? "gone" : this.#identity(entry);
	}

	facts(pid: number): ProcessFacts | undefined {
		const entry = this.#table.entry(pid);
		return typeof entry === "string" ? undefined : this.#facts(entry);
	}

	threads(pid: number): readonly ThreadFacts[] {
		return this.#table.threads(pid);
	}

	handles(
		identity: ProcessIdentity,
		signal: NodeJS.Signals,
	): "yes" | "no" | "unknown" {
		const answer = this.#table.handles(identity.pid, constants.signals[signal]);
		// Looked at afterwards: what was read is of this process, or of none.
		const observation = this.observe(identity.pid);
		const isSame =
			typeof observation !== "string" && isSameProcess(observation, identity);
		return isSame ? answer : "unknown";
	}

	members(groupId: number): readonly ProcessFacts[] {
		if (!hasMembers(groupId)) return [];
		return this.#table
			.entries()
			.filter(
				(entry) => entry.groupId === groupId && entry.condition !== "zombie",
			)
			.map((entry) => this.#facts(entry));
	}

	membersOf(
		groupIds: readonly number[],
	): ReadonlyMap<number, readonly ProcessFacts[]> {
		const members = new Map<number, ProcessFacts[]>(
			groupIds.map((groupId) => [groupId, []]),
		);
		if (groupIds.length === 0) return members;
		for (const entry of this.#table.entries())
			if (entry.condition === "alive")
				members.get(entry.groupId)?.push(this.#facts(entry));
		return members;
	}

	marked(): readonly MarkedProcess[] {
		return this.snapshot().marked;
	}

	holdsNumber(groupId: number, member: ProcessIdentity): boolean {
		const entry = this.#table.entry(member.pid);
		return (
			typeof entry !== "string" &&
			isSameProcess(this.#identity(entry), member) &&
			(entry.groupId === groupId || entry.pid === groupId)
		);
	}

	snapshot(): ProcessSnapshot {
		const entries = this.#table.entries();
		return {
			processes: entries.map((entry) => this.#facts(entry)),
			...this.#markedAmong(entries),
		};
	}

	ancestors(): readonly number[] {
		const pids: number[] = [];
		let entry = this.#table.entry(process.pid);
		while (typeof entry !== "string" && !pids.includes(entry.parentPid)) {
			pids.push(entry.parentPid);
			entry = this.#table.entry(entry.parentPid);
		}
		return pids;
	}

	/** How far one process is on its way out. */
	condition(identity: ProcessIdentity): ProcessCondition {
		const entry = this.#table.entry(identity.pid);
		if (typeof entry === "string") return entry;
		if (entry.condition === "zombie") return "gone";
		return isSameProcess(this.#identity(entry), identity)
			? entry.condition
			: "gone";
	}

	halted(identity: ProcessIdentity): "no" | "stopped" | "traced" {
		const answer = this.#table.halted(identity.pid);
		// Looked at afterwards: what was read is of this process, or of none.
		return this.condition(identity) === "gone" ? "no" : answer;
	}

	/** See {@link descendantsOf}. */
	descendants(ancestor: ProcessIdentity): readonly Descendant[] {
		return descendantsOf(ancestor, this.#table, (entry) => this.#facts(entry));
	}

	signal(identity: ProcessIdentity, signal: NodeJS.Signals): SignalOutcome {
		const observation = this.observe(identity.pid);
		if (observation === "unknown") return "refused";
		if (observation === "gone" || !isSameProcess(observation, identity))
			return "gone";
		return sendSignal(identity.pid, signal);
	}

	signalGroup(
		groupId: number,
		member: ProcessIdentity,
		signal: NodeJS.Signals,
	): SignalOutcome {
		const entry = this.#table.entry(member.pid);
		if (
			typeof entry === "string" ||
			!isSameProcess(this.#identity(entry), member)
		)
			return "gone";
		return this.holdsNumber(groupId, member)
			? sendSignal(-groupId, signal)
			: "refused";
	}

	killedForMemory(
		identity: ProcessIdentity,
		whose: "own" | "other",
	): Promise<MemoryKill | undefined> {
		return this.#memoryKills.evidence(identity, whose);
	}

	createDirectory(path: string): void {
		createPrivateDirectory(path);
	}

	remove(paths: readonly string[]): readonly string[] {
		// What a dead process left under a name in memory is on record in its directory.
		for (const path of paths) removeNamedMemory(path);
		return paths.filter((path) => !removePath(path));
	}

	debuggerAttached(): boolean {
		return debuggerAttached();
	}

	echo(line: string): void {
		this.#echo.line(line);
	}

	#markedAmong(
		entries: readonly TableEntry[],
	): Pick<ProcessSnapshot, "marked" | "guards"> {
		const marked: MarkedProcess[] = [];
		const guards: MarkedProcess[] = [];
		let ancestors: readonly number[] | undefined;
		const descent = new Descent(
			this.#table,
			entries,
			process.pid,
			() => (ancestors ??= this.ancestors()),
		);
		for (const entry of entries) {
			if (entry.pid === process.pid || entry.condition === "zombie") continue;
			const variables = this.#table.environment(entry.pid, [
				MARKER_VARIABLE,
				INCARNATION_VARIABLE,
				GUARD_VARIABLE,
			]);
			const guarded = variables.get(GUARD_VARIABLE);
			const text = variables.get(MARKER_VARIABLE) ?? guarded;
			const marker = text === undefined ? undefined : parseMarker(text);
			if (marker === undefined) continue;
			const list = text === guarded ? guards : marked;
			if (list === marked && descent.isDisproved(entry, marker)) continue;
			list.push({
				identity: this.#identity(entry),
				groupId: entry.groupId,
				marker,
				incarnation: variables.get(INCARNATION_VARIABLE),
				name: entry.name,
			});
		}
		return { marked, guards };
	}

	#holder(entry: TableEntry): NumberHolder {
		const { groupId, sessionId, startedAt } = entry;
		return {
			identity: this.#identity(entry),
			groupId,
			condition: entry.condition === "zombie" ? "zombie" : "alive",
			sessionId,
			startedAt,
		};
	}

	#facts(entry: TableEntry): ProcessFacts {
		return {
			identity: this.#identity(entry),
			groupId: entry.groupId,
			condition: entry.condition === "zombie" ? "zombie" : "alive",
			cpuTimeMs: entry.cpuTimeMs,
			residentBytes: entry.residentBytes,
		};
	}

	#identity(entry: TableEntry): ProcessIdentity {
		return {
			machineId: this.#machineId,
			bootId: this.#table.bootId,
			pidNamespace: this.#table.pidNamespace,
			pid: entry.pid,
			startTime: entry.startTime,
		};
	}
}

function systemTable(): ProcessTable {
	return process.platform === "linux" ? new LinuxProc() : new PsProcessTable();
}
