import type { Clock } from "../contract/clock.ts";
import type { ProcessIdentity } from "../contract/identity.ts";
import type { ProcessSpec, SignalOutcome } from "../contract/world.ts";
import { FakeOutput } from "./fake-output.ts";
import { FakeProcess, type FakeProgram } from "./fake-process.ts";

export interface FakeMachineOptions {
	readonly clock: Clock;
	readonly machineId?: string | undefined;
	readonly bootId?: string | undefined;
	readonly pidNamespace?: string | undefined;
	/** The first pid to give out. Default 1000. */
	readonly firstPid?: number | undefined;
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

/**
 * A process table in memory. Several {@link FakeProcessHost}s can live on one,
 * as several programs live on one machine.
 */
export class FakeMachine {
	readonly clock: Clock;
	readonly machineId: string;
	readonly bootId: string;
	readonly pidNamespace: string;
	/** Every process that was ever started, in order. */
	readonly started: FakeProcess[] = [];
	/** Directories and files that exist. */
	readonly paths: Set<string> = new Set();
	readonly #processes = new Map<number, FakeProcess>();
	readonly #lifelines = new Map<string, Set<FakeProcess>>();
	#nextPid: number;
	#ticks = 5000;

	constructor(options: FakeMachineOptions) {
		this.clock = options.clock;
		this.machineId = options.machineId ?? "fake-machine";
		this.bootId = options.bootId ?? "fake-boot-1";
		this.pidNamespace = options.pidNamespace ?? "4026531836";
		this.#nextPid = options.firstPid ?? 1000;
	}

	/** A fresh identity: no other process has or had it. */
	identify(pid: number = this.#nextPid++): ProcessIdentity {
		const { machineId, bootId, pidNamespace } = this;
		return {
			machineId,
			bootId,
			pidNamespace,
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
