import { scripts, virtualPool } from "@snakepit/core/testing";
import { expect, test } from "vitest";
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
	const { pool, clock, close } = await virtualPool(
		{ commands: scripts },
		{ onEvent: logEvents(logger) },
	);
	const lost = pool.execute("crash").catch(() => undefined);
	await clock.advance(1_000);
	await lost;
	await close();
	expect(
		lines.map((line) =>
			line.replaceAll(/pid \d+/g, "pid N").replaceAll(/[\d.]+ s\b/g, "N s"),
		),
	).toEqual([
		"info [snakepit] scripted-0 is ready after N s, pid N",
		"info [snakepit] pool scripted has 1 workers after N s",
		"warn [snakepit] scripted-0 is gone after N s, pid N: exited, SIGSEGV, 1 calls lost",
		"info [snakepit] scripted-0 is ready after N s, pid N",
		"info [snakepit] scripted-0 finishes its calls and leaves: closed",
		"info [snakepit] scripted-0 is gone after N s, pid N: closed, exit code 0, 0 calls lost",
		"info [snakepit] pool scripted is closed after N s, 0 calls cut short",
	]);
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
