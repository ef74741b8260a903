import { isDeepStrictEqual } from "node:util";
import type { Adapter } from "../contract/adapter.ts";
import { OptionsError } from "../contract/errors.ts";
import type { SnakepitListener } from "../contract/events.ts";
import { checkOptions } from "../options/check.ts";
import type { PoolOptions } from "../options/pool-options.ts";
import { POOL_CHECKS } from "../options/resolve-pool-options.ts";
import type { Pool } from "../pool/pool.ts";
import type { ToolMap, UntypedTools } from "../pool/tools.ts";
import { createPool } from "./open-run.ts";
import { RUN_CHECKS, type RunOptions } from "./run-options.ts";

/** Options of a pool that the modules of a program share. Its name is the first argument of `sharedPool`. */
export type SharedPoolOptions<Client = unknown> = Omit<
	PoolOptions<Client>,
	"name"
> &
	RunOptions;

/** A pool, and what it was asked for with. */
interface Shared {
	readonly compared: unknown;
	readonly adapter: Adapter;
	readonly pool: Promise<Pool>;
	/** That of the latest request. */
	onEvent: SnakepitListener | undefined;
	/** Whose place it is to take; `undefined` once it has. */
	before: Shared | undefined;
	/** `"over"`: its pool could not be made, or closes. */
	state: "wanted" | "over";
}

/** On the global object, so that every copy of this module finds the same ones: a bundler may load it again. */
const KEY = Symbol.for("snakepit.sharedPools");

const { name: nameCheck, ...OTHER_CHECKS } = POOL_CHECKS;
const CHECKS = { ...OTHER_CHECKS, ...RUN_CHECKS };

/**
 * Returns this program's pool of that name, or creates it. A module that a development server loads again gets the same
 * pool, with the same workers.
 *
 * If the options describe other workers, a new pool replaces the old one: it is ready before the old one closes and lets
 * its calls finish. Plain values are compared by content, functions and class instances by identity. `onEvent` and the
 * `hostFunctions` of `python()` are taken from the latest request and do not replace the pool. Options of the run count
 * only when a pool is created. After `close()`, the next request creates a new pool.
 *
 * @param name names the pool in the program, in events and in metrics.
 * @throws the errors of `createPool`. If a pool cannot be replaced, the old one stays, and the next request tries again.
 */
export async function sharedPool<
	Tools extends ToolMap = UntypedTools,
	Client = unknown,
>(
	name: string,
	options: SharedPoolOptions<Client>,
): Promise<Pool<Tools, Client>> {
	check(name, options);
	const pools = sharedPools();
	const current = pools.get(name);
	const compared = comparable(options);
	if (current !== undefined && isDeepStrictEqual(current.compared, compared)) {
		current.onEvent = options.onEvent;
		if (current.adapter !== options.adapter)
			current.adapter.adopt?.(options.adapter);
		return (await current.pool) as Pool<Tools, Client>;
	}
	const created = Promise.withResolvers<Pool>();
	const shared: Shared = {
		compared,
		adapter: options.adapter,
		pool: created.promise,
		onEvent: options.onEvent,
		before: current,
		state: "wanted",
	};
	pools.set(name, shared);
	const forget = (): void => {
		shared.state = "over";
		if (pools.get(name) !== shared) return;
		const stays = wantedBefore(shared);
		if (stays === undefined) pools.delete(name);
		else pools.set(name, stays);
	};
	try {
		const pool = await successor(name, options, shared);
		shared.before = undefined;
		pool.on("pool.closing", forget);
		created.resolve(pool);
	} catch (error) {
		forget();
		created.reject(error);
	}
	return (await created.promise) as Pool<Tools, Client>;
}

/** The last one before this that was not given up: those between them could not be made. */
function wantedBefore({ before }: Shared): Shared | undefined {
	let each = before;
	while (each?.state === "over") each = each.before;
	return each;
}

/** The pool whose place is to be taken; one that could not be made has left nothing. */
async function poolBefore({ before }: Shared): Promise<Pool | undefined> {
	for (let each = before; each !== undefined; each = each.before) {
		const pool = await each.pool.catch(() => undefined);
		if (pool !== undefined) return pool;
	}
	return undefined;
}

/** Makes a pool in the place of another, and closes that when this one is ready. */
async function successor(
	name: string,
	options: SharedPoolOptions,
	shared: Shared,
): Promise<Pool> {
	const given = { ...options, name, ...relay(options.onEvent, shared) };
	const old = await poolBefore(shared);
	if (old === undefined) return await createPool(given);
	try {
		const pool = await createPool(given);
		// Its calls may take their time; a failure of its end is reported by its events.
		old.close().catch(() => {});
		return pool;
	} catch (error) {
		if (!isConflict(error)) throw error;
		// The run has other options: it ends with its last pool, and the new pool opens another.
		await old.close();
		return await createPool(given);
	}
}

/** Calls the listener of the latest request. */
function relay(
	first: SnakepitListener | undefined,
	shared: Shared,
): Pick<PoolOptions, "onEvent"> {
	if (first === undefined) return {};
	const { shows } = first;
	const listener: SnakepitListener = (event) => shared.onEvent?.(event);
	return { onEvent: Object.assign(listener, shows && { shows }) };
}

/** What another pool is needed for when it changes. */
function comparable({
	adapter,
	onEvent,
	...options
}: SharedPoolOptions): object {
	const ofPool = Object.entries(options).filter(
		([option, value]) => option in POOL_CHECKS && value !== undefined,
	);
	const { name, madeFrom } = adapter;
	return {
		...Object.fromEntries(ofPool),
		adapter: madeFrom === undefined ? adapter : { name, madeFrom },
		onEvent: onEvent && { shows: onEvent.shows },
	};
}

function check(name: string, options: SharedPoolOptions): void {
	const wrong =
		nameCheck(name) ?? (name === undefined ? "is needed" : undefined);
	if (wrong !== undefined)
		throw new OptionsError({
			code: "INVALID_OPTION",
			message: `sharedPool(name, options): the name ${wrong}.`,
		});
	checkOptions("sharedPool", options, CHECKS);
}

function isConflict(error: unknown): boolean {
	return error instanceof OptionsError && error.code === "RUN_OPTION_CONFLICT";
}

function sharedPools(): Map<string, Shared> {
	const all = globalThis as { [KEY]?: Map<string, Shared> };
	all[KEY] ??= new Map();
	return all[KEY];
}
