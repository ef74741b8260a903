import { constants } from "node:os";
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
import type {
	MarkedProcess,
	OwnGroup,
	ProcessFacts,
	ProcessHost,
	ProcessSource,
	ProcessSpec,
	SignalOutcome,
	ThreadFacts,
} from "../contract/world.ts";
import { bindListener } from "./bound-listener.ts";
import type { Census, CensusHost } from "./census.ts";
import { debuggerAttached } from "./debugger.ts";
import { type Descendant, descendantsOf } from "./descendants.ts";
import { Descent } from "./descent.ts";
import { Echo } from "./echo.ts";
import { KeepAlive } from "./keep-alive.ts";
import { listenLifeline } from "./lifeline-listener.ts";
import { LinuxProc } from "./linux-proc.ts";
import { readMachineId } from "./machine-id.ts";
import { removeNamedMemory } from "./named-memory.ts";
import { rememberedBinary } from "./native-binary.ts";
import { NodeProcessSource } from "./node-process-source.ts";
import { createPrivateDirectory } from "./private-directory.ts";
import { type NumberHolder, OwnGroups, ProcessGroup } from "./process-group.ts";
import type { ProcessTable, TableEntry } from "./process-table.ts";
import { PsProcessTable } from "./ps-process-table.ts";
import { removePath } from "./remove-path.ts";
import { hasMembers, sendSignal } from "./send-signal.ts";
import { systemClock } from "./system-clock.ts";

/** How far a process is on its way out; `"exiting"`: none of its threads runs any more. */
export type ProcessCondition = "alive" | "exiting" | "gone" | "unknown";

/** This machine, as this process sees it. */
export class SystemProcessHost implements CensusHost {
	readonly source: ProcessSource;
	readonly self: ProcessIdentity;
	readonly platform: NodeJS.Platform = process.platform;
	readonly nativeBinary: () => string | undefined = rememberedBinary();
	readonly listenLifeline: ProcessHost["listenLifeline"] = listenLifeline;
	readonly bindListener: ProcessHost["bindListener"] = bindListener;
	readonly #machineId: string;
	readonly #table: ProcessTable;
	readonly #ownGroups = new OwnGroups(systemClock);
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
				ran: "no",
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
		const seen = this.observe(identity.pid);
		const isSame = typeof seen !== "string" && isSameProcess(seen, identity);
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
		return this.census().marked;
	}

	holdsNumber(groupId: number, member: ProcessIdentity): boolean {
		const entry = this.#table.entry(member.pid);
		return (
			typeof entry !== "string" &&
			isSameProcess(this.#identity(entry), member) &&
			(entry.groupId === groupId || entry.pid === groupId)
		);
	}

	census(): Census {
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
		const seen = this.observe(identity.pid);
		if (seen === "unknown") return "refused";
		if (seen === "gone" || !isSameProcess(seen, identity)) return "gone";
		return sendSignal(identity.pid, signal);
	}

	signalGroup(
		groupId: number,
		member: ProcessIdentity,
		signal: NodeJS.Signals,
	): SignalOutcome {
		const seen = this.#table.entry(member.pid);
		if (
			typeof seen === "string" ||
			!isSameProcess(this.#identity(seen), member)
		)
			return "gone";
		return this.holdsNumber(groupId, member)
			? sendSignal(-groupId, signal)
			: "refused";
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
	): Pick<Census, "marked" | "guards"> {
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
