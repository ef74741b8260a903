import type {
	ActParameters,
	CallMeter,
	CallParameters,
	ControlledPool,
	PoolAct,
	PoolSnapshot,
	ToolSnapshot,
} from "@snakepit/control/server";
import type { Adapter } from "../../contract/adapter.ts";
import type { Clock } from "../../contract/clock.ts";
import type {
	SnakepitEventType,
	SnakepitListener,
} from "../../contract/events.ts";
import type { WorkerUsage } from "../../contract/instrument.ts";
import type { Pool } from "../pool.ts";
import type { PoolParts } from "../pool-parts.ts";
import type { PoolSetting } from "../pool-setting.ts";
import { poolSnapshot } from "./pool-snapshot.ts";
import { workersUsage } from "./statistics.ts";

/** So many items of a stream are returned to a client that made the call. */
const STREAM_ITEMS = 1_000;

/** What a client sends, if it is right. */
interface Given {
	readonly worker: string;
	readonly manner: "gentle" | "forced" | undefined;
	readonly min: number | undefined;
	readonly max: number | undefined;
	readonly drainMs: number | undefined;
}

/** A pool for those who look at its run from another process. */
export interface VisiblePool extends ControlledPool {
	readonly name: string;
	look(): PoolSnapshot;
	usage(): readonly WorkerUsage[];
	/** Returns the function that ends the subscription. */
	subscribe(
		listener: SnakepitListener,
		types: readonly SnakepitEventType[],
		meter: CallMeter | undefined,
	): () => void;
}

export function visiblePool(
	pool: Pool,
	setting: PoolSetting,
	parts: PoolParts,
): VisiblePool {
	return new LookedAtPool(pool, setting, parts);
}

class LookedAtPool implements VisiblePool {
	readonly name: string;
	readonly #pool: Pool;
	readonly #setting: PoolSetting;
	readonly #parts: PoolParts;
	readonly #shapes: CallShapes;

	constructor(pool: Pool, setting: PoolSetting, parts: PoolParts) {
		this.name = pool.name;
		this.#pool = pool;
		this.#setting = setting;
		this.#parts = parts;
		const { options, world } = setting;
		this.#shapes = new CallShapes(options.adapter, world.clock);
	}

	look(): PoolSnapshot {
		return poolSnapshot(this.#setting, this.#parts);
	}

	usage(): readonly WorkerUsage[] {
		const { workerSet } = this.#parts;
		return workersUsage(workerSet.workers(), this.#setting.world.host);
	}

	subscribe(
		listener: SnakepitListener,
		types: readonly SnakepitEventType[],
		meter: CallMeter | undefined,
	): () => void {
		return this.#setting.hub.subscribe(listener, types, meter);
	}

	async act(
		act: PoolAct,
		parameters: ActParameters,
		by: string,
	): Promise<void> {
		// The pool checks what the client sent, as it checks what anybody gives.
		const { worker, manner, min, max, drainMs } = parameters as Given;
		switch (act) {
			case "recycle":
				return await this.#pool.recycle(worker, { manner, by });
			case "restart":
				return await this.#pool.restart(worker, { by });
			case "pause":
				return this.#pool.pause({ by });
			case "resume":
				return this.#pool.resume({ by });
			case "resize":
				return this.#pool.resize({ min, max }, { by });
			case "drain":
				return await this.#pool.close({ drainMs });
			case "kill":
				return await this.#pool.close({ manner: "forced" });
		}
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
		const { adapter } = this.#setting.options;
		return adapter.describe?.(signal).then((commands) =>
			commands.map(
				({ name, description, argumentsSchema, shape, batchMax }) => ({
					...{ name, description, argumentsSchema, shape, batchMax },
				}),
			),
		);
	}
}

/** Whether a command answers once or with a stream. */
type CallShape = "unary" | "stream";

/** A worker that is busy in one long step may not answer sooner than its call ends. */
const PATIENCE_MS = 2_000;

/** How the commands of a pool answer, as its adapter describes them. It is asked about a command once. */
export class CallShapes {
	readonly #adapter: Pick<Adapter, "describe">;
	readonly #clock: Clock;
	readonly #known = new Map<string, CallShape>();

	constructor(adapter: Pick<Adapter, "describe">, clock: Clock) {
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
		const patience = new AbortController();
		const timer = this.#clock.after(PATIENCE_MS, () => patience.abort());
		try {
			const either = AbortSignal.any([signal, patience.signal]);
			const commands = await this.#adapter.describe?.(either);
			for (const { name, shape } of commands ?? [])
				if (shape !== undefined) this.#known.set(name, shape);
		} finally {
			timer.cancel();
		}
	}
}
