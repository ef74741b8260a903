import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import type { Pool } from "../../src/pool/pool.ts";
import {
	type SharedPoolOptions,
	sharedPool,
} from "../../src/run/shared-pool.ts";
import { isAlive } from "../cleanup/hosts.ts";

const NAME = "shared-test";
const opened = new Set<Pool>();
let dataDir: string;

beforeEach(() => {
	dataDir = mkdtempSync(join(tmpdir(), "snakepit-test-"));
});

afterEach(async () => {
	await Promise.all([...opened].map((pool) => pool.close()));
	opened.clear();
	removeDirectory(dataDir);
});

/** As a module makes them each time it is loaded. */
function load(
	given: {
		readonly seconds?: string;
		readonly executable?: string;
		readonly answer?: string;
	} & Partial<SharedPoolOptions> = {},
): SharedPoolOptions {
	const {
		seconds = "100000",
		executable = "sleep",
		answer = "a",
		...rest
	} = given;
	const state = { answer };
	return {
		adapter: {
			name: "sleeps",
			madeFrom: { executable, seconds },
			adopt: (next) => {
				state.answer = next.notes?.()[0] ?? "";
			},
			notes: () => [answer],
			launch: () => ({ executable, args: [seconds] }),
			connect: async () => ({
				execute: async () => state.answer,
				[Symbol.asyncDispose]: async () => {},
			}),
		},
		size: 1,
		heartbeat: "off",
		output: { echo: "none" },
		dataDir,
		...rest,
	};
}

async function shared(options: SharedPoolOptions): Promise<Pool> {
	const pool = await sharedPool(NAME, options);
	opened.add(pool);
	return pool;
}

const pidsOf = (pool: Pool): readonly number[] =>
	pool.workers().flatMap(({ pid }) => pid ?? []);

test("the same options, made anew, give the same pool with the functions of the latest load", async () => {
	const pool = await shared(load({ answer: "first" }));
	const pids = pidsOf(pool);
	expect(pool.name).toBe(NAME);
	expect(await pool.execute("any")).toBe("first");
	expect(await shared(load({ answer: "second" }))).toBe(pool);
	expect(await pool.execute("any")).toBe("second");
	expect(pidsOf(pool)).toEqual(pids);
});

test("two requests at the same time share one pool", async () => {
	const [one, other] = await Promise.all([shared(load()), shared(load())]);
	expect(one).toBe(other);
	expect(pidsOf(one)).toHaveLength(1);
});

test("events go to the listener of the latest load alone", async () => {
	const seen: string[] = [];
	const listen =
		(load: string) =>
		({ type }: SnakepitEvent): void =>
			void seen.push(`${load} ${type}`);
	const pool = await shared(load({ onEvent: listen("first") }));
	expect(seen).toContain("first pool.started");
	expect(await shared(load({ onEvent: listen("second") }))).toBe(pool);
	seen.length = 0;
	pool.pause();
	expect(seen).toEqual(["second pool.paused"]);
});

test("other options replace the pool: the new one is ready before the old one ends", async () => {
	const old = await shared(load());
	const [pid = 0] = pidsOf(old);
	const closed = new Promise((resolve) => old.on("pool.closed", resolve));
	const closing = new Promise<boolean>((resolve) =>
		old.on("pool.closing", () => resolve(isAlive(pid))),
	);
	const next = await shared(load({ seconds: "100001" }));
	expect(next).not.toBe(old);
	expect(pidsOf(next)).toHaveLength(1);
	expect(await closing).toBe(true);
	await closed;
	expect(isAlive(pid)).toBe(false);
	await expect(old.execute("any")).rejects.toMatchObject({
		code: "POOL_CLOSED",
	});
	expect(await next.execute("any")).toBe("a");
	expect(await shared(load({ seconds: "100001" }))).toBe(next);
	expect(await shared(load({ seconds: "100001", size: 2 }))).not.toBe(next);
});

test("an adapter that does not say what it was made from is another one with every load", async () => {
	const without = (): SharedPoolOptions => {
		const { adapter, ...rest } = load();
		const { madeFrom: _, ...plain } = adapter;
		return { ...rest, adapter: plain };
	};
	const options = without();
	const pool = await shared(options);
	expect(await shared(options)).toBe(pool);
	expect(await shared(without())).not.toBe(pool);
});

test("a pool that cannot be replaced stays, and the next request tries again", async () => {
	const pool = await shared(load());
	await expect(
		sharedPool(NAME, load({ executable: "/nowhere/program" })),
	).rejects.toMatchObject({ code: "SPAWN_FAILED" });
	expect(await pool.execute("any")).toBe("a");
	expect(await shared(load())).toBe(pool);
	expect(await shared(load({ seconds: "100002" }))).not.toBe(pool);
});

test("after a first pool that could not be made, the next request makes one", async () => {
	await expect(
		sharedPool(NAME, load({ executable: "/nowhere/program" })),
	).rejects.toMatchObject({ code: "SPAWN_FAILED" });
	expect(await (await shared(load())).execute("any")).toBe("a");
});

test("after a first pool that could not be made, the same request tries again", async () => {
	const { adapter, ...rest } = load();
	const attempts = ["/nowhere/program", "sleep"];
	const launch = () => ({
		executable: attempts.shift() ?? "",
		args: ["100000"],
	});
	const options = { ...rest, adapter: { ...adapter, launch } };
	await expect(sharedPool(NAME, options)).rejects.toMatchObject({
		code: "SPAWN_FAILED",
	});
	expect(await (await shared(options)).execute("any")).toBe("a");
});

test("an option that is undefined is as one that is left out, and functions of an adapter need not be adopted", async () => {
	const plain = (): SharedPoolOptions => {
		const { adapter, ...rest } = load();
		const { adopt: _, ...plain } = adapter;
		return { ...rest, adapter: plain };
	};
	const pool = await shared(plain());
	expect(await shared({ ...plain(), recycle: undefined })).toBe(pool);
});

test("a listener where there was none, and one that takes other events, replace the pool", async () => {
	const seen: string[] = [];
	const onEvent = ({ type }: SnakepitEvent): void => void seen.push(type);
	const silent = await shared(load());
	const heard = await shared(load({ onEvent }));
	expect(heard).not.toBe(silent);
	expect(seen).toContain("pool.started");
	const shows = ["worker.output"] as const;
	const taking = Object.assign((_: SnakepitEvent): void => {}, { shows });
	expect(await shared(load({ onEvent: taking }))).not.toBe(heard);
});

test("a closed pool is forgotten in the moment in which it begins to close", async () => {
	const pool = await shared(load());
	const closing = pool.close();
	const next = await shared(load());
	expect(next).not.toBe(pool);
	await closing;
	expect(await shared(load())).toBe(next);
});

test("other options of the run take effect when the old pool, the last of its run, has ended", async () => {
	const old = await shared(load({ signalGraceMs: 1_000 }));
	const next = await shared(load({ signalGraceMs: 2_000, seconds: "100003" }));
	expect(next.runId).not.toBe(old.runId);
	expect(await next.execute("any")).toBe("a");
});

test("a pool that was closed for other options of the run, which then could not be had, is not given again", async () => {
	const old = await shared(load({ signalGraceMs: 1_000 }));
	await expect(
		sharedPool(
			NAME,
			load({ signalGraceMs: 2_000, executable: "/nowhere/program" }),
		),
	).rejects.toMatchObject({ code: "SPAWN_FAILED" });
	const next = await shared(load({ signalGraceMs: 1_000 }));
	expect(next).not.toBe(old);
	expect(await next.execute("any")).toBe("a");
});

test("a request that comes while another one fails replaces the pool that there is", async () => {
	const old = await shared(load());
	const [pid = 0] = pidsOf(old);
	const closed = new Promise((resolve) => old.on("pool.closed", resolve));
	const failing = sharedPool(NAME, load({ executable: "/nowhere/program" }));
	const failed = expect(failing).rejects.toMatchObject({
		code: "SPAWN_FAILED",
	});
	const next = await shared(load({ seconds: "100004" }));
	await failed;
	await closed;
	expect(isAlive(pid)).toBe(false);
	expect(await shared(load({ seconds: "100004" }))).toBe(next);
});

test("what cannot be options is refused before anything is started", async () => {
	for (const [name, options] of [
		["", load()],
		["not a name", load()],
		[undefined, load()],
		[NAME, { ...load(), name: "other" }],
		[NAME, undefined],
	] as const)
		await expect(
			sharedPool(name as string, options as SharedPoolOptions),
		).rejects.toMatchObject({ name: "OptionsError", ran: "no" });
});
