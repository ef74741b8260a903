import type { Socket } from "node:net";
import type {
	CallMeter,
	ControlledEvent,
	ControlledPool,
	ControlledRun,
	ControlRecord,
	ControlScope,
	ControlServer,
	FailedCall,
	RecordedRequest,
	RunSnapshot,
	SaidClient,
	LogBacklog as ServedBacklog,
} from "@snakepit/control/server";
import type { Clock, Random } from "../contract/clock.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import type { HostProgram, RunRecord } from "../contract/process-registry.ts";
import { messageOf } from "../contract/thrown.ts";
import { LOG_TYPES, POOL_TYPES, RUN_TYPES } from "../options/event-types.ts";
import { type ControlListener, listenForControl } from "../os/listeners.ts";
import { loadLate } from "../os/load-late.ts";
import { userOfProcess } from "../os/this-machine.ts";
import type { ControlEndpoint } from "../pool/observe/control-endpoint.ts";
import type { EventHub } from "../pool/observe/event-hub.ts";
import type { LogBacklog } from "../pool/observe/log-backlog.ts";

export interface RunControlDependencies {
	readonly record: () => RunRecord;
	/** Which calls of the run failed, oldest first. */
	readonly failedCalls: () => readonly FailedCall[];
	readonly program: Pick<HostProgram, "name" | "node" | "snakepit">;
	readonly dataDir: string;
	readonly runDirectory: string;
	/** How many records of the ledger are only in memory. */
	readonly unwritten: () => number;
	/** Their names, once the run is open. */
	readonly protections: () => readonly string[];
	/** What clients may do; if it is empty, no client can connect. */
	readonly scopes: readonly ControlScope[];
	/** Has the events of the run. */
	readonly hub: EventHub;
	readonly clock: Clock;
	readonly random: Random;
}

/** Most programs are never looked at: the first connection loads the server. */
const loadServer: () => Promise<
	Pick<typeof import("@snakepit/control/server"), "serveControl">
> = loadLate(() => import("@snakepit/control/server"));

/** A run for those who look at it from another process, and act on it. */
export class RunControl implements ControlledRun {
	readonly #setting: RunControlDependencies;
	readonly #pools = new Set<ControlEndpoint>();
	/** The last lines of the workers of each pool, if clients may see them. */
	readonly #backlogs = new Map<ControlEndpoint, LogBacklog>();
	/** Of clients that want events or logs: they follow pools that are made later, too. */
	readonly #followers = new Set<Follower>();
	readonly #token: string;
	#closed = false;
	#listener: ControlListener | undefined;
	#server: Promise<ControlServer> | undefined;
	readonly #loadServer: typeof loadServer;

	/** @param load loads the server. */
	constructor(
		setting: RunControlDependencies,
		load: typeof loadServer = loadServer,
	) {
		this.#setting = setting;
		this.#loadServer = load;
		this.#token = setting.random.token();
	}

	/** Listens, unless control is off. A run that cannot goes on without, and reports it. */
	async listen(): Promise<void> {
		const { scopes, runDirectory, dataDir, hub, clock } = this.#setting;
		if (scopes.length === 0) return;
		const { runId, owner, startedAt } = this.#setting.record();
		const { name } = this.#setting.program;
		const record: ControlRecord = {
			...{ runId, pid: owner.pid, program: name, dataDir },
			...{ startedAtMs: startedAt, token: this.#token },
		};
		try {
			const listener = await listenForControl(runDirectory, record, (socket) =>
				this.#accept(socket),
			);
			if (this.#closed) listener.close();
			else this.#listener = listener;
		} catch (error) {
			hub.emit({
				...{ type: "control.unavailable", wallMs: clock.wall(), runId },
				reason: messageOf(error),
			});
		}
	}

	/** Listens again where clients look for the run, if they cannot find it any more. */
	lookAfter(): void {
		const listener = this.#listener;
		if (listener === undefined) return;
		if (listener.isFound(this.#setting.runDirectory)) return;
		this.#listener = undefined;
		// First: it removes what has the path of its socket.
		listener.close();
		void this.listen();
	}

	/** The run has ended. */
	close(): void {
		this.#closed = true;
		this.#listener?.close();
		this.#server?.then(
			(server) => server.close(),
			() => {}, // It could not be loaded.
		);
	}

	/** Shows a pool until the returned function is called. */
	add(pool: ControlEndpoint): () => void {
		this.#pools.add(pool);
		if (this.#setting.scopes.includes("logs"))
			this.#backlogs.set(pool, pool.keepLines());
		for (const follower of this.#followers) follower.follow(pool);
		return () => {
			this.#pools.delete(pool);
			this.#backlogs.delete(pool);
		};
	}

	/** By name: of two that have the same, as while a shared pool is replaced, the later one. */
	#named(): ReadonlyMap<string, ControlEndpoint> {
		return new Map([...this.#pools].map((pool) => [pool.name, pool]));
	}

	look(): RunSnapshot {
		const { record, dataDir, protections, unwritten, scopes, clock } =
			this.#setting;
		const { runId, owner, startedAt } = record();
		const { name, node, snakepit } = this.#setting.program;
		return {
			...{ runId, pid: owner.pid, program: name, dataDir },
			...{ startedAtMs: startedAt, wallMs: clock.wall(), scopes },
			protections: protections(),
			versions: { node, snakepit },
			unwritten: unwritten(),
			pools: [...this.#named().values()].map((pool) => pool.look()),
		};
	}

	failedCalls(): readonly FailedCall[] {
		return this.#setting.failedCalls();
	}

	usage(): ReturnType<ControlledRun["usage"]> {
		const usages = [...this.#named().values()].flatMap((pool) => pool.usage());
		return new Map(usages.map((usage) => [usage.incarnation, usage]));
	}

	subscribe(
		kind: "events" | "logs",
		listener: (event: ControlledEvent) => void,
		meter?: CallMeter,
	): () => void {
		const follower = new Follower(
			listener as unknown as (event: SnakepitEvent) => void,
			kind === "logs" ? LOG_TYPES : POOL_TYPES,
			meter,
		);
		this.#followers.add(follower);
		if (kind === "events") follower.followRun(this.#setting.hub);
		for (const pool of this.#pools) follower.follow(pool);
		return () => {
			this.#followers.delete(follower);
			follower.end();
		};
	}

	backlog(): ServedBacklog {
		const backlogs = [...this.#backlogs.values()];
		const events = backlogs
			.flatMap((each) => each.lines())
			.toSorted((a, b) => a.orderMs - b.orderMs)
			.map(({ event }) => event as unknown as ControlledEvent);
		return {
			events,
			dropped: new Map(backlogs.flatMap((each) => each.dropped())),
		};
	}

	pool(name: string): ControlledPool | undefined {
		return this.#named().get(name);
	}

	/**
	 * No client without the token, which only this user and root can read, comes so far. Its name is what it says; its pid is
	 * checked as far as it can be: whether there is such a process, and whose it is.
	 */
	clientName({ name, pid }: SaidClient): string {
		if (pid === undefined) return name;
		const user = userOfProcess(pid);
		return user === undefined
			? `${name} (says pid ${pid})`
			: `${name} (pid ${pid}, user ${user})`;
	}

	record(request: RecordedRequest): void {
		const { hub, clock, record } = this.#setting;
		const wallMs = clock.wall();
		const { runId } = record();
		hub.emit({ type: "control.requested", wallMs, runId, ...request });
	}

	#accept(socket: Socket): void {
		const { clock, scopes } = this.#setting;
		this.#server ??= this.#loadServer().then(({ serveControl }) =>
			serveControl({ run: this, clock, scopes, token: this.#token }),
		);
		this.#server.then(
			(server) => server.accept(socket),
			() => {
				// Out of descriptors: the next connection tries again.
				this.#server = undefined;
				socket.destroy();
			},
		);
	}
}

/** One who wants events: of the run, and of every pool that it has. */
class Follower {
	readonly #listener: (event: SnakepitEvent) => void;
	readonly #types: typeof POOL_TYPES;
	readonly #meter: CallMeter | undefined;
	readonly #ends: (() => void)[] = [];

	constructor(
		listener: (event: SnakepitEvent) => void,
		types: typeof POOL_TYPES,
		meter: CallMeter | undefined,
	) {
		this.#listener = listener;
		this.#types = types;
		this.#meter = meter;
	}

	followRun(hub: EventHub): void {
		this.#ends.push(hub.subscribe(this.#listener, RUN_TYPES));
	}

	follow(pool: ControlEndpoint): void {
		this.#ends.push(pool.subscribe(this.#listener, this.#types, this.#meter));
	}

	end(): void {
		for (const end of this.#ends) end();
	}
}
