import { scripts } from "@snakepit/core/testing";
import { expect, test } from "vitest";
import { virtualPoolBench } from "../../../core/src/testing/virtual-pool.ts";
import { duration } from "../../src/catalogue/events.ts";
import { logEvents } from "../../src/index.ts";
import { RARE_EVENTS } from "../support/rare-events.ts";

function keep(): {
	readonly lines: string[];
	readonly logger: Parameters<typeof logEvents>[0];
} {
	const lines: string[] = [];
	const at = (level: string) => (line: string) => {
		lines.push(`${level} ${line}`);
	};
	return {
		lines,
		logger: { info: at("info"), warn: at("warn"), error: at("error") },
	};
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
				.replaceAll(/after [\d.]+ m?s\b/g, "after N"),
		),
	).toEqual([
		"info [snakepit] scripted-0 is ready after N, pid N",
		"info [snakepit] pool scripted has 1 worker after N",
		"warn [snakepit] scripted-0 is gone after N, pid N: exited, SIGSEGV, 1 call lost",
		"info [snakepit] scripted-0 is ready after N, pid N",
		"info [snakepit] scripted-0 finishes its calls and leaves: closed",
		"info [snakepit] scripted-0 is gone after N, pid N: closed, exit code 0, 0 calls lost",
		"info [snakepit] pool scripted is closed after N, 0 calls cut short",
	]);
});

test("records of a worker's logging are lines from WARNING on, and not on standard error as well", async () => {
	const { lines, logger } = keep();
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
	expect(lines.filter((line) => line.includes(" | "))).toEqual([
		"warn [snakepit] scripted-0 | scripted: no price for tea (call c1)",
		"error [snakepit] scripted-0 | scripted: it broke\nTraceback:\nKeyError: 'tea'",
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
		"error [snakepit] the watchdog of run gfedcba saw the death of its host",
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
