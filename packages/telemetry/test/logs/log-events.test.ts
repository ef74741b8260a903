import { Console } from "node:console";
import { Writable } from "node:stream";
import type { EventOf } from "@snakepit/core";
import { scripts } from "@snakepit/core/testing";
import { expect, test } from "vitest";
import { virtualPoolBench } from "../../../core/src/testing/virtual-pool.ts";
import { duration } from "../../src/catalogue/events.ts";
import { type LogEntry, logEvents } from "../../src/index.ts";
import { RARE_EVENTS } from "../support/rare-events.ts";

interface Kept {
	/** Level and text of each entry. */
	readonly lines: string[];
	readonly entries: LogEntry[];
	readonly logger: (entry: LogEntry) => void;
}

function keep(): Kept {
	const lines: string[] = [];
	const entries: LogEntry[] = [];
	return {
		...{ lines, entries },
		logger: (entry) => {
			entries.push(entry);
			lines.push(`${entry.level} ${entry.message}`);
		},
	};
}

const FAILED: EventOf<"call.settled"> = {
	...{ type: "call.settled", wallMs: 1, pool: "p", callId: "c1" },
	...{ command: "print", outcome: "failed", code: "TOOL_FAILED" },
	...{ message: "no paper", ran: "maybe", remote: undefined, attempts: 1 },
	...{ attemptDetails: [], traceId: undefined, totalMs: 5 },
};

/** A console of its own, and what it has written: on standard output, and on standard error. */
function ownConsole(): {
	readonly own: Console;
	readonly out: string[];
	readonly errors: string[];
} {
	const [out, errors] = [[], []] as [string[], string[]];
	const into = (texts: string[]): Writable =>
		new Writable({
			write: (chunk, _, done) => {
				texts.push(String(chunk));
				done();
			},
		});
	const own = new Console({ stdout: into(out), stderr: into(errors) });
	return { own, out, errors };
}

test("the important events are lines that a person can read", async () => {
	const { lines, logger } = keep();
	const { pool, clock, close } = await virtualPoolBench(
		{ commands: scripts },
		{ onEvent: logEvents(logger) },
	);
	const lost = pool.execute("crash").catch(() => undefined);
	await clock.advance(1_000);
	await lost;
	await close();
	expect(
		lines.map((line) =>
			line
				.replaceAll(/pid \d+/g, "pid N")
				.replaceAll(/after [\d.]+ m?s\b/g, "after N")
				.replace(/(WORKER_EXITED: ).*$/s, "$1…"),
		),
	).toEqual([
		"info scripted-0 is ready after N, pid N",
		"info pool scripted has 1 worker after N",
		"warn call c1 (crash) failed after N on scripted-0: WORKER_EXITED: …",
		"warn scripted-0 is gone after N, pid N: exited, SIGSEGV, 1 call lost",
		"info scripted-0 is ready after N, pid N",
		"info scripted-0 finishes its calls and leaves: closed",
		"info scripted-0 is gone after N, pid N: closed, exit code 0, 0 calls lost",
		"info pool scripted is closed after N, 0 calls cut short",
	]);
});

test("an entry has the fields of its event: of a failed call its error, attempts and arguments, of a dead worker its last lines", async () => {
	const { entries, logger } = keep();
	const { pool, clock, close } = await virtualPoolBench(
		{
			commands: {
				...scripts,
				jam: ({ worker }) => {
					worker.process.write("paper jam", "stderr");
					worker.crash();
					return new Promise(() => {});
				},
			},
		},
		{ onEvent: logEvents(logger), observe: { args: (_, args) => args } },
	);
	const lost = pool.execute("jam", { page: 7 }).catch(() => undefined);
	await clock.advance(1_000);
	await lost;
	const aborted = new AbortController();
	const { signal } = aborted;
	const given = pool.execute("work", 100, { signal }).catch(() => undefined);
	aborted.abort();
	await given;
	await close();
	const of = (type: string) =>
		entries
			.filter(({ fields }) => fields.snakepit["event"] === type)
			.map(({ level, fields }) => ({ level, ...fields.snakepit }));
	expect(of("call.settled")).toMatchObject([
		{
			...{ level: "warn", pool: "scripted", callId: "c1", command: "jam" },
			...{ code: "WORKER_EXITED", outcome: "failed", args: { page: 7 } },
			message: expect.stringContaining("paper jam"),
			attemptDetails: [{ workerId: "scripted-0" }],
		},
	]);
	expect(of("worker.exited")[0]).toMatchObject({
		...{ level: "warn", workerId: "scripted-0", reason: "exited" },
		tail: ["paper jam"],
	});
	// Whatever it is written with.
	expect(() => JSON.stringify(entries)).not.toThrow();
});

const circle: { self?: unknown } = {};
circle.self = circle;
test.each([
	["an integer that JSON cannot carry", { id: 12n }, { id: "12" }],
	["a value that contains itself", circle, expect.stringContaining("Circular")],
])(
	"what a program shows of arguments reaches every logger: %s",
	(_, args, shown) => {
		const { entries, logger } = keep();
		logEvents(logger)({ ...FAILED, args });
		expect(entries[0]?.fields.snakepit["args"]).toEqual(shown);
		expect(() => JSON.stringify(entries)).not.toThrow();
	},
);

test("an error among the fields is what JSON leaves out of it", () => {
	const { entries, logger } = keep();
	const log = logEvents(logger);
	for (const event of RARE_EVENTS) log(event);
	const failed = entries.find(
		({ fields }) => fields.snakepit["event"] === "pool.start_failed",
	);
	expect(failed?.fields.snakepit["error"]).toEqual({
		name: expect.any(String),
		code: expect.any(String),
		message: expect.any(String),
		ran: expect.any(String),
	});
});

test("a console gets one text for each entry, with the last lines of a worker and the arguments of a call below it", async () => {
	const { own, out, errors } = ownConsole();
	const { pool, clock, close } = await virtualPoolBench(
		{
			commands: {
				jam: ({ worker }) => {
					worker.process.write("paper jam", "stderr");
					worker.crash();
					return new Promise(() => {});
				},
			},
		},
		{ onEvent: logEvents(own), observe: { args: (_, args) => args } },
	);
	const lost = pool.execute("jam", { page: 7 }).catch(() => undefined);
	await clock.advance(1_000);
	await lost;
	await close();
	expect(out[0]).toMatch(/^\[snakepit\] scripted-0 is ready after .*\n$/);
	expect(errors[0]).toMatch(
		/^\[snakepit\] call c1 \(jam\) failed .*\n {4}arguments: {"page":7}\n$/s,
	);
	expect(errors[1]).toMatch(
		/^\[snakepit\] scripted-0 is gone .*\n {4}paper jam\n$/,
	);
});

test("pino and bunyan get the fields first, other loggers the message", () => {
	const event = RARE_EVENTS.find(({ type }) => type === "registry.degraded");
	if (event === undefined) throw new Error("there is no such event");
	const written: unknown[][] = [];
	const own = {
		self: undefined as unknown,
		info: () => {},
		warn: () => {},
		error(this: unknown, ...parts: unknown[]) {
			written.push([this === logger, ...parts]);
		},
	};
	let logger: object = own;
	const fields = {
		snakepit: expect.objectContaining({
			...{ event: "registry.degraded", code: "REGISTRY_FULL", unwritten: 2 },
		}),
	};
	const message = "the disk is full";
	for (const more of [{}, { bindings: () => ({}) }, { addSerializers() {} }]) {
		logger = { ...own, ...more };
		logEvents(logger as typeof own)(event);
	}
	expect(written).toEqual([
		[true, message, fields],
		[true, fields, message],
		[true, fields, message],
	]);
});

test("of calls that fail alike five a second are written, and then how many more there were", async () => {
	const { entries, lines, logger } = keep();
	const summary = Promise.withResolvers<void>();
	const log = logEvents((entry) => {
		logger(entry);
		if (/more calls like/.test(entry.message)) summary.resolve();
	});
	for (let n = 0; n < 1_000; n++) log({ ...FAILED, callId: `c${n}` });
	log({ ...FAILED, command: "other" });
	expect(lines).toHaveLength(6);
	await summary.promise;
	expect(lines.slice(6)).toEqual([
		"warn 995 more calls like the last one (print of pool p: TOOL_FAILED) failed within a second",
	]);
	expect(entries.at(-1)?.fields.snakepit).toMatchObject({ alike: 995 });
});

test("records of a worker's logging are entries from WARNING on, and core does not write them to standard error as well", async () => {
	const { own: logger, errors } = ownConsole();
	const { pool, clock, close, host } = await virtualPoolBench(
		{
			commands: {
				log: ({ worker }) => {
					worker.log("looking", { level: "info" });
					worker.log("no price for tea", { level: "warning", callId: "c1" });
					worker.log("shown by the tools", {
						level: "warning",
						handledBy: "worker",
					});
					worker.log("it broke", {
						level: "critical",
						traceback: "Traceback:\nKeyError: 'tea'\n",
					});
				},
			},
		},
		{ onEvent: logEvents(logger), output: { echo: "stderr" } },
	);
	const call = pool.execute("log");
	await clock.advance(10);
	await call;
	await close();
	const own = /^\[snakepit\] scripted-0 \| .*\n$/s;
	expect(errors.filter((text) => own.test(text))).toEqual([
		"[snakepit] scripted-0 | scripted: no price for tea (call c1)\n",
		"[snakepit] scripted-0 | scripted: it broke\nTraceback:\nKeyError: 'tea'\n",
	]);
	expect(host.echoed).toEqual([]);
});

test("what is less important than asked for is left out", () => {
	const { lines, logger } = keep();
	const log = logEvents(logger, { from: "error" });
	for (const event of RARE_EVENTS) log(event);
	expect(lines.length).toBeGreaterThan(3);
	expect(lines.filter((line) => !line.startsWith("error "))).toEqual([]);
	expect(lines).toContain(
		"error the watchdog of run gfedcba saw the death of its host",
	);
});

test("a pool that closes while a worker starts reports no error", async () => {
	const { lines, logger } = keep();
	const { pool, clock, close } = await virtualPoolBench(
		{
			commands: scripts,
			launchPayload: {},
			boot: async (process, attempt) => {
				if (attempt > 1) await process.sleep(100);
			},
		},
		{ onEvent: logEvents(logger) },
	);
	const lost = pool.execute("crash").catch(() => undefined);
	await clock.advance(50);
	await lost;
	await close();
	expect(lines.filter((line) => line.includes("did not start"))).toEqual([
		expect.stringMatching(/^info .* its pool is closing/),
	]);
	expect(lines.filter((line) => line.startsWith("error "))).toEqual([]);
});

test.each([[undefined], [{ info: () => {}, warn: () => {} }]])(
	"a logger that is none is refused at once: %j",
	(logger) => {
		expect(() =>
			logEvents(logger as unknown as Parameters<typeof logEvents>[0]),
		).toThrow(
			expect.objectContaining({
				code: "INVALID_OPTION",
				message: expect.stringMatching(/"logger" must have the methods info/),
			}),
		);
	},
);

test.each([
	[0, "0 ms"],
	[4.2578, "4.26 ms"],
	[65.4, "65.4 ms"],
	[999.4, "999 ms"],
	[1144.18539, "1.14 s"],
	[3_600_000, "3600 s"],
])("%d ms are written as %s", (ms, written) => {
	expect(duration(ms)).toBe(written);
});
