import { expect, test } from "vitest";
import type { Default } from "../../src/options/groups.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import * as poolGroups from "../../src/options/pool-options.ts";
import { resolveOptions } from "../../src/options/resolve-pool-options.ts";
import {
	AUDIT_DEFAULTS,
	HISTORY_DEFAULTS,
	JOBS_DEFAULTS,
	RUN_DEFAULTS,
} from "../../src/run/run-options.ts";
import { scriptedAdapter } from "../../src/testing/scripted-adapter.ts";

const adapter = scriptedAdapter();

test("left out options get their defaults, and the result is frozen", () => {
	const resolved = resolveOptions({ adapter }, 6);
	expect(resolved).toMatchObject({
		name: "scripted",
		size: { min: 1, max: 6 },
		callsPerWorker: 1,
		heartbeat: { intervalMs: 2_000, hungAfterMs: 10_000, missedPings: 3 },
	});
	expect(
		Object.isFrozen(resolved) &&
			Object.isFrozen(resolved.size) &&
			Object.isFrozen(resolved.queue),
	).toBe(true);
	expect(resolveOptions({ adapter, size: 3 }, 1).size).toMatchObject({
		min: 3,
		max: 3,
	});
	expect(resolveOptions({ adapter, size: { min: 9 } }, 2).size).toMatchObject({
		min: 9,
		max: 9,
	});
	expect(resolveOptions({ adapter, heartbeat: "off" }, 2).heartbeat).toBe(
		"off",
	);
});

test("every default passes its own check, means that there is no bound, or is left to the machine", () => {
	const groups = [
		...Object.values(poolGroups),
		AUDIT_DEFAULTS,
		HISTORY_DEFAULTS,
		JOBS_DEFAULTS,
		RUN_DEFAULTS,
	];
	const rows = groups.flatMap((group) =>
		Object.values<Default<unknown>>(group),
	);
	for (const { value, check, reason } of rows) {
		expect(
			value === undefined ||
				value === Number.POSITIVE_INFINITY ||
				check(value) === undefined,
		).toBe(true);
		expect(reason).not.toBe("");
	}
});

const wrong: readonly [string, unknown, string, RegExp][] = [
	["misspelt", { quue: {} }, "UNKNOWN_OPTION", /Did you mean "queue"/],
	...["start", "queue", "calls", "recycle", "sessions", "stop", "output"].map(
		(group): [string, unknown, string, RegExp] => [
			`null as ${group}`,
			{ [group]: null },
			"INVALID_OPTION",
			/must be an object, got null/,
		],
	),
	[
		"misspelt in a group",
		{ start: { timeoutMS: 1 } },
		"UNKNOWN_OPTION",
		/Did you mean "timeoutMs"/,
	],
	[
		"no plain object",
		{ adapter: new Map() },
		"INVALID_OPTION",
		/instance of Map/,
	],
	["nothing like it", { frobnicate: 1 }, "UNKNOWN_OPTION", /Known: adapter/],
	[
		"what every object has",
		{ constructor: 1 },
		"UNKNOWN_OPTION",
		/no option "constructor"/,
	],
	[
		"no adapter",
		{ adapter: undefined },
		"INVALID_OPTION",
		/"adapter" must be an Adapter/,
	],
	[
		"negative",
		{ queue: { limit: -1 } },
		"INVALID_OPTION",
		/"limit" must be a whole number/,
	],
	[
		"a fraction",
		{ start: { timeoutMs: 1.5 } },
		"INVALID_OPTION",
		/"timeoutMs"/,
	],
	["a text for a number", { callsPerWorker: "2" }, "INVALID_OPTION", /got "2"/],
	[
		"longer than a timer",
		{ stop: { drainMs: 2 ** 40 } },
		"INVALID_OPTION",
		/"drainMs"/,
	],
	[
		"minimum above maximum",
		{ size: { min: 3, max: 2 } },
		"INVALID_OPTION",
		/must not be greater/,
	],
	[
		"a text for a size",
		{ size: "2" },
		"INVALID_OPTION",
		/"size" must be a number of workers, or \{ min, max, idleMs \}, got "2"/,
	],
	[
		"a heartbeat that is switched off by another word",
		{ heartbeat: false },
		"INVALID_OPTION",
		/"heartbeat" must be an object of options, or "off", got false/,
	],
	[
		"an instrument that nobody called",
		{ instruments: [() => undefined] },
		"INVALID_OPTION",
		/for example \[telemetry\(\)\], got \[a function\]/,
	],
	[
		"an adapter without a name",
		{ adapter: { ...adapter, name: undefined, launch: adapter.launch } },
		"INVALID_OPTION",
		/with a name \(a string\) .* got \{.*name: undefined/,
	],
	[
		"no workers at all",
		{ size: 0 },
		"INVALID_OPTION",
		/"size" must be a whole number from 1/,
	],
	["a name that is none", { name: "a b" }, "INVALID_OPTION", /"name"/],
	["a group that is none", { queue: 5 }, "INVALID_OPTION", /must be an object/],
	[
		"a word that is none",
		{ output: { echo: "loud" } },
		"INVALID_OPTION",
		/"stderr" or "none"/,
	],
	[
		"a listener that is none",
		{ onEvent: 5 },
		"INVALID_OPTION",
		/must be a function/,
	],
];

test.each(wrong)(
	"%s: refused at the door, with what is expected",
	(_what, options, code, message) => {
		expect(() =>
			resolveOptions({ adapter, ...(options as object) } as PoolOptions, 2),
		).toThrow(
			expect.objectContaining({
				name: "OptionsError",
				code,
				ran: "no",
				message: expect.stringMatching(message),
			}),
		);
	},
);

test("options that are no object are refused", () => {
	expect(() => resolveOptions(undefined as unknown as PoolOptions, 2)).toThrow(
		/must be an object/,
	);
});

test.each(["", "a b", "two\nlines", "x".repeat(41), "../up"])(
	"an adapter whose name is %j is refused: it is in paths and log lines",
	(name) => {
		expect(() => resolveOptions({ adapter: { ...adapter, name } }, 2)).toThrow(
			/"adapter" must have a name of 1 to 40 letters/,
		);
	},
);
