import type {
	ActOutcome,
	ActParameters,
	CallMeter,
	CallParameters,
	ControlledPool,
	PoolAct,
	PoolSnapshot,
	StacksSnapshot,
	ToolSnapshot,
} from "@snakepit/control/server";
import type { Adapter } from "../../contract/adapter.ts";
import type { Clock } from "../../contract/clock.ts";
import { InputError } from "../../contract/errors.ts";
import type {
	SnakepitEventType,
	SnakepitListener,
} from "../../contract/events.ts";
import type { WorkerUsage } from "../../contract/instrument.ts";
import type { Worker } from "../../worker/worker.ts";
import type { Pool } from "../pool.ts";
import type { PoolInternals } from "../pool-internals.ts";
import type { PoolLife } from "../pool-life.ts";
import { LogBacklog } from "./log-backlog.ts";
import { poolSnapshot, workerSnapshot } from "./pool-snapshot.ts";
import { workersUsage } from "./statistics.ts";

/** So many items of a stream are returned to a client that made the call. */
const STREAM_ITEMS = 1_000;

/** What a client sends, if it is right. */
interface ActOptions {
	readonly worker: string;
	readonly manner: "gentle" | "forced" | undefined;
	readonly min: number | undefined;
	readonly max: number | undefined;
	readonly drainMs: number | undefined;
}

/** A pool for those who look at its run from another process. */
export class ControlEndpoint implements ControlledPool {
	readonly name: string;
	readonly #pool: Pool;
	readonly #internals: PoolInternals;
	readonly #life: PoolLife;
	readonly #shapes: CallShapes;
	constructor(pool: Pool, internals: PoolInternals, life: PoolLife) {
		this.name = pool.name;
		this.#pool = pool;
		this.#internals = internals;
		this.#life = life;
		this.#shapes = new CallShapes(this, internals.world.clock);
	}

	/** Asks a worker for its commands; `undefined` where the adapter cannot. */
	get describe(): Adapter["describe"] {
		const { options, instrumentation } = this.#internals;
		const { adapter } = options;
		const unobserved = instrumentation?.unobserved;
		const describe = adapter.describe?.bind(adapter);
		return describe === undefined || unobserved === undefined
			? describe
			: (signal) => unobserved(() => describe(signal));
	}

	look(): PoolSnapshot {
		return poolSnapshot(this.#internals, this.#life);
	}

	usage(): readonly WorkerUsage[] {
		const { workerSet, world } = this.#internals;
		return workersUsage(workerSet.workers(), world.host);
	}

	/** Returns the function that ends the subscription. */
	subscribe(
		listener: SnakepitListener,
		types: readonly SnakepitEventType[],
		meter: CallMeter | undefined,
	): () => void {
		return this.#internals.hub.subscribe(listener, types, meter);
	}

	/** Keeps the last lines of its workers from now on. */
	keepLines(): LogBacklog {
		const backlog = new LogBacklog();
		// With the event: a listener may be one more turn away.
		this.#internals.hub.recordWith(backlog.note);
		return backlog;
	}

	async stacks(id: string): Promise<StacksSnapshot> {
		const { workerSet, options, world } = this.#internals;
		const all = workerSet.workers();
		const worker =
			all.find(({ ref }) => ref.incarnation === id) ??
			// While it is replaced, there are two.
			all.find(({ ref, state }) => ref.workerId === id && state === "ready") ??
			all.find(({ ref }) => ref.workerId === id);
		if (worker === undefined) throw noSuchWorker(this.name, id, all);
		const { ref, stacks, connection } = worker;
		if (stacks === undefined)
			throw new InputError({
				code: "NOT_OFFERED",
				ran: "no",
				message: `Worker ${ref.workerId} ${worker.pid === undefined ? "has no process yet" : `cannot write its stacks: the adapter ${options.adapter.name} names no signal for that, because most programs would end by it. Programs of python() and pythonGrpc() can; for another one use its own tools, such as gdb -p ${worker.pid}`}.`,
			});
		const { running } = workerSnapshot(
			worker,
			this.#internals,
			world.clock.now(),
		);
		const taken = await stacks.request({
			workerId: ref.workerId,
			state: worker.state === "starting" ? "starting" : "started",
			ping: connection?.ping?.bind(connection),
		});
		const wallMs = world.clock.wall();
		return { ...ref, pid: worker.pid ?? null, wallMs, ...taken, running };
	}

	async act(
		act: PoolAct,
		parameters: ActParameters,
		by: string,
	): Promise<ActOutcome> {
		// The pool checks what the client sent, as it checks what anybody gives.
		const { worker, manner, min, max, drainMs } = parameters as ActOptions;
		switch (act) {
			case "recycle":
				await this.#pool.recycle(worker, { manner, by });
				break;
			case "restart":
				await this.#pool.restart(worker, { by });
				break;
			case "pause":
				this.#pool.pause({ by });
				break;
			case "resume":
				this.#pool.resume({ by });
				break;
			case "resize":
				this.#pool.resize({ min, max }, { by });
				break;
			case "drain":
				await this.#pool.close({ drainMs, by });
				return { cut: this.#life.cut };
			case "kill":
				await this.#pool.close({ manner: "forced", by });
				return { cut: this.#life.cut };
		}
		return {};
	}

	async call({
		command,
		args,
		timeoutMs,
		signal,
	}: CallParameters): Promise<unknown> {
		const options = { timeoutMs, signal };
		const shape = (await this.#shapes.of(command, signal)) ?? "unary";
		try {
			return await this.#called(shape, command, args, options);
		} catch (error) {
			const { code } = error as { code?: unknown };
			if (code !== "WRONG_SHAPE") throw error;
		}
		// The adapter could not say, or the tools are others now.
		const other = shape === "unary" ? "stream" : "unary";
		this.#shapes.learn(command, other);
		return await this.#called(other, command, args, options);
	}

	async #called(
		shape: CallShape,
		command: string,
		args: unknown,
		options: Pick<CallParameters, "timeoutMs" | "signal">,
	): Promise<unknown> {
		if (shape === "unary")
			return await this.#pool.execute(command, args, options);
		const items: unknown[] = [];
		const stream = this.#pool.stream(command, args, options);
		for await (const item of stream) {
			items.push(item);
			if (items.length === STREAM_ITEMS) return items;
		}
		const result = await stream.result;
		return result === undefined || result === null ? items : [...items, result];
	}

	tools(signal: AbortSignal): Promise<readonly ToolSnapshot[]> | undefined {
		return this.describe?.(signal).then((commands) =>
			commands.map(
				({ name, description, argumentsSchema, shape, batchMax }) => ({
					...{ name, description, argumentsSchema, shape, batchMax },
				}),
			),
		);
	}
}

function noSuchWorker(
	pool: string,
	id: string,
	all: readonly Worker[],
): InputError {
	const ids = all.map(({ ref }) => ref.workerId);
	return new InputError({
		code: "WORKER_NOT_FOUND",
		ran: "no",
		message: `Pool ${pool} has no worker "${id}"; ${ids.length === 0 ? "it has none" : `it has ${ids.join(", ")}`}.`,
	});
}

/** The part of an adapter that says which commands there are. */
interface Describing {
	readonly describe?: Adapter["describe"] | undefined;
}

/** Whether a command answers once or with a stream. */
type CallShape = "unary" | "stream";

/** A worker that is busy in one long step may not answer sooner than its call ends. */
const TIME_LIMIT_MS = 2_000;

/** How the commands of a pool answer, as its adapter describes them. It is asked about a command once. */
export class CallShapes {
	readonly #adapter: Describing;
	readonly #clock: Clock;
	readonly #known = new Map<string, CallShape>();

	constructor(adapter: Describing, clock: Clock) {
		this.#adapter = adapter;
		this.#clock = clock;
	}

	/** `undefined` where the adapter cannot say, or no worker can now. Never rejects. */
	async of(
		command: string,
		signal: AbortSignal,
	): Promise<CallShape | undefined> {
		if (!this.#known.has(command)) await this.#ask(signal).catch(() => {});
		return this.#known.get(command);
	}

	/** Remembers what a call has shown: the tools of a pool may change while it runs. */
	learn(command: string, shape: CallShape): void {
		this.#known.set(command, shape);
	}

	async #ask(signal: AbortSignal): Promise<void> {
		const deadline = new AbortController();
		const timer = this.#clock.after(TIME_LIMIT_MS, () => deadline.abort());
		try {
			const either = AbortSignal.any([signal, deadline.signal]);
			const commands = await this.#adapter.describe?.(either);
			for (const { name, shape } of commands ?? [])
				if (shape !== undefined) this.#known.set(name, shape);
		} finally {
			timer.cancel();
		}
	}
}
