import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
	createPool,
	type ExecuteOptions,
	type Pool,
	type PoolOptions,
} from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";
import { expect, onTestFinished, test } from "vitest";
import { rounds, rows } from "../../../../scripts/test-effort.ts";
import { SeededRandom } from "../../../core/src/testing/virtual-pool.ts";
import { python } from "../../src/index.ts";
import { scratch } from "../support/fake-python.ts";
import { PYTHON } from "../support/pythons.ts";

const TOOLS = fileURLToPath(new URL("prefetch.py", import.meta.url));

interface Ended {
	readonly number: number;
	readonly value?: unknown;
	readonly code?: string;
	readonly ran?: string;
}

/** A pool whose tool notes in a file what it began, and how each call that was made of it ended. */
class Noted {
	readonly pool: Pool;
	/** How many calls were taken back from workers. */
	taken = 0;
	/** How many calls could be prefetched, because the tool was known as quick. */
	admitted = 0;
	readonly ended: Ended[] = [];
	/** A pipe that a call waits for. */
	readonly gate: string;
	readonly #file: string;
	#made = 0;

	private constructor(pool: Pool, file: string, gate: string) {
		this.pool = pool;
		this.#file = file;
		this.gate = gate;
	}

	static async open(options: Partial<PoolOptions> = {}): Promise<Noted> {
		const file = join(scratch(), "began");
		const gate = join(scratch(), "gate");
		execFileSync("mkfifo", ["-m", "600", gate]);
		const base = python({
			tools: TOOLS,
			python: PYTHON,
			env: { BEGAN: file, GATE: gate },
		});
		let noted: Noted | undefined;
		const connect: Adapter["connect"] = async (worker, signal) => {
			const connection = await base.connect(worker, signal);
			const { prefetch } = connection;
			if (prefetch === undefined) return connection;
			const admits = prefetch.admits.bind(prefetch);
			prefetch.admits = (...call) => {
				if (noted !== undefined) noted.admitted++;
				return admits(...call);
			};
			const recall = prefetch.recall.bind(prefetch);
			prefetch.recall = (callId) => {
				const taken = recall(callId);
				if (noted !== undefined) noted.taken += taken.size;
				return taken;
			};
			return connection;
		};
		const adapter = Object.assign(Object.create(base) as Adapter, { connect });
		const pool = await createPool({
			adapter,
			size: 1,
			dataDir: scratch(),
			output: { echo: "none" },
			start: { maxRestarts: 10_000, backoffMs: 1 },
			...options,
		});
		noted = new Noted(pool, file, gate);
		const opened = noted;
		onTestFinished(() => opened.pool.close({ drainMs: 0 }));
		await noted.untilQuick();
		return noted;
	}

	/** Calls the tool until calls of it are prefetched; on a busy machine a call may seem slow. */
	async untilQuick(): Promise<void> {
		const { admitted } = this;
		while (this.admitted === admitted)
			await Promise.all(Array.from({ length: 6 }, () => this.make()));
	}

	make(
		how = "quick",
		ms = 0,
		options?: ExecuteOptions,
		tool = "work",
	): Promise<Ended> {
		const number = ++this.#made;
		const args = tool === "work" ? [number, how, ms] : [number];
		return this.pool.execute(tool, args, options).then(
			(value) => this.#note({ number, value }),
			({ code, ran }) => this.#note({ number, code, ran }),
		);
	}

	#note(ended: Ended): Ended {
		this.ended.push(ended);
		return ended;
	}

	/** The numbers of the calls that began, in that order. */
	began(): readonly number[] {
		return readFileSync(this.#file, "utf8").trim().split("\n").map(Number);
	}

	/** What was said of a call is compared with what the tool noted. */
	check(): void {
		const times = new Map<number, number>();
		for (const number of this.began())
			times.set(number, (times.get(number) ?? 0) + 1);
		expect(this.ended).toHaveLength(this.#made);
		expect(new Set(this.ended.map(({ number }) => number)).size).toBe(
			this.#made,
		);
		const lies = this.ended.filter(({ number, value, ran }) => {
			const began = times.get(number) ?? 0;
			return value === undefined ? ran === "no" && began > 0 : began !== 1;
		});
		expect(lies).toEqual([]);
		expect([...times].filter(([, count]) => count > 1)).toEqual([]);
	}
}

// One that is busy lets other threads run between, one with the lock does not.
test.each(rows(["sleep", "busy", "gil"], (how) => how !== "busy"))(
	"calls that were sent behind one that takes long (%s) run on another worker meanwhile",
	async (how) => {
		const noted = await Noted.open({ size: 2 });
		// Again where none was sent behind the head: on a busy machine the calls before it may have seemed slow.
		while (noted.taken === 0) {
			let headIsOver = false;
			const head = noted.make(how, 2_000).then(() => {
				headIsOver = true;
			});
			await Promise.all(Array.from({ length: 30 }, () => noted.make()));
			expect(headIsOver).toBe(false);
			await head;
		}
		expect(noted.ended.every(({ value }) => value !== undefined)).toBe(true);
		noted.check();
	},
);

test("a call that is aborted while it waits in the worker does not begin, and the one before it runs on", async () => {
	const noted = await Noted.open();
	const controller = new AbortController();
	const head = noted.make("busy", 300);
	const behind = Array.from({ length: 4 }, (_, n) =>
		noted.make("quick", 0, n === 1 ? controller : {}),
	);
	controller.abort();
	expect(await behind[1]).toMatchObject({ code: "CALL_ABORTED", ran: "no" });
	expect((await head).value).toBeDefined();
	expect((await Promise.all(behind)).map(({ code }) => code)).toEqual([
		undefined,
		"CALL_ABORTED",
		undefined,
		undefined,
	]);
	noted.check();
	expect(noted.began()).not.toContain((await behind[1])?.number);
});

test("a more urgent call begins before those that wait in the worker", async () => {
	const noted = await Noted.open();
	const head = noted.make("gate");
	const waiting = Array.from({ length: 4 }, () => noted.make());
	const urgent = noted.make("quick", 0, { priority: 1 });
	// The gate opens only after them: the head may be over at any moment, however busy the machine is.
	await new Promise(setImmediate);
	writeFileSync(noted.gate, "");
	await Promise.all([head, ...waiting]);
	const first = (await head).number;
	expect(noted.began().slice(noted.began().indexOf(first))).toEqual([
		first,
		(await urgent).number,
		...(await Promise.all(waiting)).map(({ number }) => number),
	]);
	noted.check();
});

test("a worker takes one call at a time, whatever kinds of tools follow each other", async () => {
	const noted = await Noted.open();
	for (let n = 0; n < 20; n++) await noted.make("quick", 0, {}, "work_async");
	await Promise.all(
		Array.from({ length: 60 }, (_, n) =>
			noted.make("quick", 0, {}, n % 3 === 0 ? "work_async" : "work"),
		),
	);
	noted.check();
	// As they were made: with one worker and one priority nothing overtakes.
	expect(noted.began()).toEqual(noted.began().toSorted((a, b) => a - b));
});

test("when a worker is killed, what waited in it runs elsewhere, and only what began is lost", async () => {
	const noted = await Noted.open();
	for (let round = 0; round < rounds(20, 4); round++) {
		const head = noted.make("die");
		const behind = Array.from({ length: 8 }, () => noted.make());
		expect(await head).toMatchObject({ ran: "maybe" });
		for (const { value } of await Promise.all(behind))
			expect(value).toBeDefined();
		await noted.untilQuick();
	}
	noted.check();
}, 120_000);

test("answers that wait for the next ones are neither lost when the next call kills the worker, nor late when it holds Python's lock", async () => {
	const noted = await Noted.open();
	for (let round = 0; round < rounds(20, 4); round++) {
		const answered = Array.from({ length: 5 }, () => noted.make());
		const killer = noted.make("die");
		for (const { value } of await Promise.all(answered))
			expect(value).toBeDefined();
		expect(await killer).toMatchObject({ ran: "maybe" });
		await noted.untilQuick();
	}
	const answered = Array.from({ length: 5 }, () => noted.make());
	const blocked = noted.make("gate");
	// The gate opens only after them.
	for (const { value } of await Promise.all(answered))
		expect(value).toBeDefined();
	writeFileSync(noted.gate, "");
	expect((await blocked).value).toBeDefined();
	noted.check();
}, 120_000);

test("whatever happens to workers, a call ends once, begins at most once, and `no` is never said of one that began", async () => {
	const noted = await Noted.open({
		size: 2,
		calls: { cancelGraceMs: 200 },
	});
	const chance = new SeededRandom(7);
	const below = (most: number): number => Math.floor(chance.fraction() * most);
	const most = rounds(6_000, 1_000);
	let made = 0;
	const hit = (): void => {
		const { pid, state } = noted.pool.workers()[below(2)] ?? {};
		if (pid === undefined || state !== "ready") return;
		if (below(2) === 0) {
			process.kill(pid, "SIGKILL");
			return;
		}
		// A host that lags judges late that a worker hangs, or never: this test itself continues or kills it.
		process.kill(pid, "SIGSTOP");
		const end = (["SIGKILL", "SIGCONT"] as const)[below(2)];
		setTimeout(() => {
			if (noted.pool.workers().some((worker) => worker.pid === pid))
				process.kill(pid, end);
		}, below(60));
	};
	const caller = async (): Promise<void> => {
		while (++made <= most) {
			if (made % 150 === 0) hit();
			const dice = below(600);
			const controller = new AbortController();
			const call =
				dice < 6
					? noted.make(["sleep", "busy", "gil"][dice % 3], below(40))
					: dice === 6
						? noted.make("die")
						: noted.make("quick", 0, {
								signal: controller.signal,
								priority: below(20) === 0 ? 1 : 0,
								...(below(50) === 0 && { timeoutMs: 1 + below(5) }),
							});
			if (below(40) === 0) setImmediate(() => controller.abort());
			await call;
		}
	};
	await Promise.all(Array.from({ length: 24 }, caller));
	noted.check();
	expect(noted.taken).toBeGreaterThan(0);
	// It is not by saying "maybe" of everything that it never lies.
	expect(
		noted.ended.filter(({ value }) => value !== undefined).length,
	).toBeGreaterThan(noted.ended.length / 4);
}, 90_000);
