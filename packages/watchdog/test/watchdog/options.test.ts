import { expect, test } from "vitest";
import { type WatchdogOptions, watchdog } from "../../src/index.ts";
import { resolveWatchdogOptions } from "../../src/watchdog/options.ts";
import { restartDelay } from "../../src/watchdog/watchdog.ts";

/** Every option by its name: the compiler checks that they may be undefined. */
type LeftOut<Options> = { readonly [Name in keyof Options]-?: undefined };

test("an option that is wrong or misspelt is named", () => {
	expect(() => watchdog({ graceMs: -1 })).toThrow(
		/watchdog: "graceMs" must be/,
	);
	expect(() => watchdog({ checkIntervalMs: 0 })).toThrow(/checkIntervalMs/);
	expect(() => watchdog({ whenUnavailable: "no" as "start" })).toThrow(
		/"start" or "refuse"/,
	);
	expect(() => watchdog({ graceMS: 1 } as object)).toThrow(
		/Did you mean "graceMs"/,
	);
	expect(() => watchdog({ node: "" })).toThrow(/"node"/);
	expect(watchdog().whenUnavailable).toBe("start");
	expect(watchdog({ whenUnavailable: "refuse" }).whenUnavailable).toBe(
		"refuse",
	);
});

test("an option that is undefined is one that is left out", () => {
	const watchdogOptions: LeftOut<WatchdogOptions> = {
		graceMs: undefined,
		checkIntervalMs: undefined,
		node: undefined,
		whenUnavailable: undefined,
	};
	expect(resolveWatchdogOptions(watchdogOptions)).toEqual(
		resolveWatchdogOptions({}),
	);
});

test("a restart waits not at all, then twice as long each time, up to ten seconds", () => {
	expect([1, 2, 3, 4, 8, 9, 100].map(restartDelay)).toEqual([
		0, 100, 200, 400, 6400, 10_000, 10_000,
	]);
});
