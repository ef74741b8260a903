import type { Clock } from "../contract/clock.ts";
import { StartError } from "../contract/errors.ts";
import {
	INCARNATION_VARIABLE,
	isSameProcess,
	judgeGroup,
	MARKER_VARIABLE,
	type Observation,
	type ProcessIdentity,
	parseMarker,
} from "../contract/identity.ts";
import type { ListenerAddress } from "../contract/launch.ts";
import type {
	BoundListener,
	LifelineListener,
	MarkedProcess,
	MemoryKill,
	OwnGroup,
	ProcessFacts,
	ProcessHost,
	ProcessSource,
	ProcessSpec,
	SignalOutcome,
	StartedProcess,
	ThreadFacts,
} from "../contract/world.ts";
import { FakeOutput, FakeProcess, type FakeProgram } from "./fake-process.ts";

export interface FakeProcessHostOptions {
	readonly clock: Clock;
	readonly platform?: NodeJS.Platform | undefined;
	/** What runs for an executable. */
	readonly programs?: Readonly<Record<string, FakeProgram>> | undefined;
}

/**
 * An operating system in memory: processes are scripted programs, and nothing
 * happens outside the test's own program.
 */
export class FakeProcessHost implements ProcessHost {
	readonly source: ProcessSource;
	readonly self: ProcessIdentity;
	readonly platform: NodeJS.Platform;
	readonly machine: FakeMachine;
	/** The processes that the source started, in order. */
	readonly started: FakeProcess[] = [];
	/** Lines that were echoed for people. */
	readonly echoed: string[] = [];
	/** Every path that was removed, in order. */
	readonly removed: string[] = [];
	/** Where this host itself listens for programs that are being started. */
	readonly listeners: FakeListeners = new FakeListeners();
	/** What {@link debuggerAttached} returns. */
	debugged = false;
	/** What the kernel says about memory, of every process that it is asked about. */
	memoryKill: MemoryKill | undefined;
	/** What {@link createDirectory} throws, while set. */
	directoryError: Error | undefined;

	readonly #programs: Map<string, FakeProgram>;
	readonly #spawnErrors: Error[] = [];
	#gate: Promise<void> | undefined;
	#kept = 0;

	constructor(options: FakeProcessHostOptions) {
		this.machine = new FakeMachine(options.clock);
		this.platform = options.platform ?? "linux";
		this.#programs = new Map(Object.entries(options.programs ?? {}));
		this.self = this.machine.spawn({
			program: (process) => process.idle(),
			spec: { executable: "host" },
		}).identity;
		this.source = {
			name: "fake",
			start: (spec, record) => this.#start(spec, record),
		};
	}

	/** Says what runs when `executable` is started. */
	install(executable: string, program: FakeProgram): void {
		this.#programs.set(executable, program);
	}

	/** The living processes, but for the one of this host: what a test expects to be empty in the end. */
	living(): readonly FakeProcess[] {
		return this.machine
			.living()
			.filter((process) => process.pid !== this.self.pid);
	}

	/** Where there is a native binary; nowhere, unless a test says so. */
	binary: string | undefined;

	nativeBinary(): string | undefined {
		return this.binary;
	}

	/** How many keep the program open. */
	get keptAlive(): number {
		return this.#kept;
	}

	/** A process that was not started here, such as an orphan of another run. */
	plant(spawn: FakeSpawn): FakeProcess {
		return this.machine.spawn(spawn);
	}

	/** Lets the next `count` starts fail. */
	failSpawns(count = 1, error: Error = spawnFailed()): void {
		for (let index = 0; index < count; index++) this.#spawnErrors.push(error);
	}

	/** Lets starts wait, before there is a process, until the returned function is called. */
	holdSpawns(): () => void {
		const gate = Promise.withResolvers<void>();
		this.#gate = gate.promise;
		return () => {
			this.#gate = undefined;
			gate.resolve();
		};
	}

	observe(pid: number): Observation {
		const process = this.machine.find(pid);
		if (!process?.alive) return "gone";
		return process.readable ? process.identity : "unknown";
	}

	handles(
		{ pid }: ProcessIdentity,
		signal: NodeJS.Signals,
	): "yes" | "no" | "unknown" {
		const process = this.machine.find(pid);
		if (!process?.alive || !process.readable) return "unknown";
		return process.handles(signal) ? "yes" : "no";
	}

	/** A fake process is one thread. */
	threads(pid: number): readonly ThreadFacts[] {
		const facts = this.facts(pid);
		const held = this.machine.find(pid)?.held ?? "no";
		return facts?.condition === "alive"
			? [{ id: "main", cpuTimeMs: facts.cpuTimeMs, held }]
			: [];
	}

	facts(pid: number): ProcessFacts | undefined {
		const process = this.machine.find(pid);
		return process?.readable ? process.facts() : undefined;
	}

	ownGroup(leader: ProcessIdentity): OwnGroup {
		return {
			id: leader.pid,
			noteLeader: () => {},
			leaderEnded: () => {},
			signalLeader: (signal) => this.signal(leader, signal),
			signal: (signal) => this.#signalGroup(leader, signal),
		};
	}

	membersOf(
		groupIds: readonly number[],
	): ReadonlyMap<number, readonly ProcessFacts[]> {
		return new Map(groupIds.map((groupId) => [groupId, this.members(groupId)]));
	}

	members(groupId: number): readonly ProcessFacts[] {
		return this.machine
			.members(groupId)
			.flatMap((process) => this.facts(process.pid) ?? []);
	}

	marked(): readonly MarkedProcess[] {
		return this.living().flatMap((process) => {
			const { env, executable } = process.spec;
			const marker = parseMarker(env[MARKER_VARIABLE] ?? "");
			if (!marker || !process.readable) return [];
			const { identity, groupId } = process;
			return [
				{
					identity,
					groupId,
					marker,
					incarnation: env[INCARNATION_VARIABLE],
					name: executable,
				},
			];
		});
	}

	signal(identity: ProcessIdentity, signal: NodeJS.Signals): SignalOutcome {
		const process = this.machine.find(identity.pid);
		if (!process?.alive) return "gone";
		if (!process.readable) return "refused";
		return isSameProcess(process.identity, identity)
			? process.signal(signal)
			: "gone";
	}

	createDirectory(path: string): void {
		if (this.directoryError) throw this.directoryError;
		if (this.machine.paths.has(path))
			throw Object.assign(new Error(`EEXIST: ${path} exists already`), {
				code: "EEXIST",
			});
		this.machine.paths.add(path);
	}

	remove(paths: readonly string[]): readonly string[] {
		for (const path of paths) {
			this.removed.push(path);
			for (const known of [...this.machine.paths]) {
				if (known === path || known.startsWith(`${path}/`))
					this.machine.paths.delete(known);
			}
		}
		return [];
	}

	async listenLifeline(path: string): Promise<LifelineListener> {
		return { path, close: this.machine.openLifeline(path) };
	}

	bindListener(path?: string): Promise<BoundListener> {
		return this.listeners.bind(path);
	}

	keepAlive(): () => void {
		this.#kept++;
		let held = true;
		return () => {
			if (held) this.#kept--;
			held = false;
		};
	}

	async killedForMemory(): Promise<MemoryKill | undefined> {
		return this.memoryKill;
	}

	debuggerAttached(): boolean {
		return this.debugged;
	}

	echo(line: string): void {
		this.echoed.push(line);
	}

	async #start(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		await this.#gate;
		const error = this.#spawnErrors.shift();
		if (error) throw error;
		const program = this.#programs.get(spec.executable);
		if (!program)
			throw spawnFailed(`no fake program is installed as ${spec.executable}`);
		const process = this.machine.spawn({
			program,
			spec,
			parent: this.machine.find(this.self.pid),
		});
		this.started.push(process);
		if (spec.launcher !== undefined)
			process.holdLifeline(spec.launcher.lifeline);
		try {
			record(process.identity);
		} catch (refusal) {
			process.die({ kind: "signal", signal: "SIGKILL" });
			throw refusal;
		}
		return {
			identity: process.identity,
			groupId: process.groupId,
			source: this.source.name,
			exited: process.exited,
			stdin: process.ends.stdin,
			stdout: process.output.stdout,
			stderr: process.output.stderr,
			control: process.ends.control,
			streams: process.ends.streams,
			signal: (signal, target) =>
				target === "group"
					? this.#signalGroup(process.identity, signal)
					: process.signal(signal),
		};
	}

	#signalGroup(leader: ProcessIdentity, signal: NodeJS.Signals): SignalOutcome {
		const members = this.machine.members(leader.pid);
		const { whose } = judgeGroup(leader, members, ({ provable }) => provable);
		if (whose === "unknown") return "unproven";
		return whose === "ours"
			? this.machine.signalGroup(leader.pid, signal)
			: "gone";
	}
}

/** What starts one fake process. */
export interface FakeSpawn {
	readonly program: FakeProgram;
	readonly spec?: Partial<ProcessSpec> | undefined;
	readonly parent?: FakeProcess | undefined;
	/** Left out: it leads a group of its own. */
	readonly groupId?: number | undefined;
	/** Left out: it has output of its own. */
	readonly output?: FakeOutput | undefined;
	/** Left out: the next free one. A pid whose process is gone may be given again. */
	readonly pid?: number | undefined;
}

/** A process table in memory. */
export class FakeMachine {
	readonly clock: Clock;
	/** Every process that was ever started, in order. */
	readonly started: FakeProcess[] = [];
	/** Directories and files that exist. */
	readonly paths: Set<string> = new Set();
	readonly #processes = new Map<number, FakeProcess>();
	readonly #lifelines = new Map<string, Set<FakeProcess>>();
	#nextPid = 1000;
	#ticks = 5000;

	constructor(clock: Clock) {
		this.clock = clock;
	}

	/** A fresh identity: no other process has or had it. */
	identify(pid: number = this.#nextPid++): ProcessIdentity {
		return {
			machineId: "fake-machine",
			bootId: "fake-boot-1",
			pidNamespace: "4026531836",
			pid,
			startTime: String(this.#ticks++),
		};
	}

	/** Starts a process. Its program begins in a later microtask. */
	spawn(spawn: FakeSpawn): FakeProcess {
		if (spawn.pid !== undefined && this.find(spawn.pid)?.facts())
			throw new Error(`Pid ${spawn.pid} is taken.`);
		const identity = this.identify(spawn.pid);
		const process = new FakeProcess({
			machine: this,
			identity,
			groupId: spawn.groupId ?? identity.pid,
			parent: spawn.parent,
			output: spawn.output ?? new FakeOutput(),
			spec: {
				executable: "fake",
				args: [],
				env: {},
				cwd: undefined,
				stdin: "empty",
				control: false,
				...spawn.spec,
			},
		});
		this.#processes.set(identity.pid, process);
		this.started.push(process);
		return process.run(spawn.program);
	}

	/** The latest process that had this pid. */
	find(pid: number): FakeProcess | undefined {
		return this.#processes.get(pid);
	}

	living(): readonly FakeProcess[] {
		return [...this.#processes.values()].filter((process) => process.alive);
	}

	/** The living members of a group. */
	members(groupId: number): readonly FakeProcess[] {
		return this.living().filter((process) => process.groupId === groupId);
	}

	/** Sends a signal to every living member of a group. */
	signalGroup(groupId: number, signal: NodeJS.Signals): SignalOutcome {
		const outcomes = this.members(groupId).map((member) =>
			member.signal(signal),
		);
		if (outcomes.length === 0) return "gone";
		return outcomes.includes("sent") ? "sent" : "refused";
	}

	/** Whether a process listens at `path`; the process then dies when the listener closes. */
	connectLifeline(path: string, process: FakeProcess): boolean {
		const holders = this.#lifelines.get(path);
		holders?.add(process);
		return holders !== undefined;
	}

	/** Listens at `path` until the returned function is called, which ends every group that holds on. */
	openLifeline(path: string): () => void {
		if (this.#lifelines.has(path))
			throw new Error(`Somebody listens at ${path} already.`);
		const holders = new Set<FakeProcess>();
		this.#lifelines.set(path, holders);
		this.paths.add(path);
		return () => {
			if (this.#lifelines.get(path) !== holders) return;
			this.#lifelines.delete(path);
			this.paths.delete(path);
			for (const holder of holders) {
				if (holder.alive) this.signalGroup(holder.groupId, "SIGKILL");
			}
		};
	}

	/** Paths at which a process listens. */
	lifelines(): readonly string[] {
		return [...this.#lifelines.keys()];
	}
}

/** The listeners of a fake host, to which no client can connect. */
class FakeListeners {
	/** Those of which the host has a copy. */
	readonly open: ReadonlySet<ListenerAddress>;
	readonly #open = new Set<ListenerAddress>();
	#lastPort = 40_000;

	constructor() {
		this.open = this.#open;
	}

	async bind(path?: string): Promise<BoundListener> {
		const fd = ++this.#lastPort;
		const address: ListenerAddress =
			path === undefined ? { host: "127.0.0.1", port: fd } : { path };
		this.#open.add(address);
		return { address, fd, close: () => this.#open.delete(address) };
	}
}

/** The refusal to start a fake process. */
function spawnFailed(why = "the test lets it fail"): StartError {
	return new StartError({
		code: "SPAWN_FAILED",
		message: `The process could not be started: ${why}.`,
	});
}
