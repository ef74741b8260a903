import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import type { Protection } from "../../src/contract/protection.ts";
import {
	assertAgrees,
	type RunOptions,
	resolveRunOptions,
} from "../../src/run/run-options.ts";

function protection(fields: Partial<Protection> = {}): Protection {
	return {
		name: "a",
		whenUnavailable: "start",
		inspect: async () => ({ layer: "a", status: "available", detail: "" }),
		engage: async () => ({ release: async () => {} }),
		...fields,
	};
}

test("what is left out has its default", () => {
	expect(resolveRunOptions("openRun", {}, {})).toEqual({
		guard: "auto",
		protections: [],
		cleanup: undefined,
		audit: { intervalMs: 30_000, strays: "reported" },
		jobs: { concurrency: availableParallelism(), queueLimit: 1_000 },
		history: {
			runs: 200,
			ageMs: 30 * 24 * 60 * 60 * 1000,
			content: "recorded",
		},
		onSignal: "end",
		signalGraceMs: 35_000,
		control: ["read", "logs"],
	});
});

const wrong: readonly (readonly [string, object, RegExp])[] = [
	["a misspelt option", { dataDirr: "x" }, /Did you mean "dataDir"/],
	["a directory that is none", { dataDir: "" }, /"dataDir" must be a string/],
	["a strategy that is none", { cleanup: "spare" }, /"cleanup" must be a func/],
	["a wrong word", { onSignal: "die" }, /"onSignal" must be "end" or "ignore"/],
	[
		"a number out of its limits",
		{ audit: { intervalMs: 5 } },
		/openRun audit: "intervalMs" must be a whole number from 100/,
	],
	[
		"a protection that nobody called",
		{ protections: [() => undefined, "watchdog"] },
		/for example \[watchdog\(\)\], got \[a function, a string\]/,
	],
	[
		"no job at all",
		{ jobs: { concurrency: 0 } },
		/openRun jobs: "concurrency" must be a whole number from 1/,
	],
	[
		"no scope",
		{ control: { scopes: [] } },
		/openRun control: "scopes" must have at least one/,
	],
	[
		"an unknown scope",
		{ control: { scopes: ["root"] } },
		/at least one of "read"/,
	],
	["half of control", { control: { scope: "read" } }, /Did you mean "scopes"/],
	["a word for control", { control: "on" }, /openRun control/],
	["one protection", { protections: protection() }, /must be an array/],
	["half of one", { protections: [{ name: "a" }] }, /must be an array/],
	[
		"one that is named twice",
		{ protections: [protection(), protection()] },
		/"a" is in it twice/,
	],
];

test.each(wrong)("%s is refused before anything starts", (_, options, text) => {
	expect(() => resolveRunOptions("openRun", options as RunOptions)).toThrow(
		expect.objectContaining({
			name: "OptionsError",
			message: expect.stringMatching(text),
		}),
	);
});

const spare = (): "spare" => "spare";
const alone = protection();
const OPENED = resolveRunOptions("openRun", {
	protections: [
		alone,
		protection({ name: "b", settings: { graceMs: 5, python: undefined } }),
	],
	cleanup: spare,
	audit: { intervalMs: 1_000 },
});

test.each<readonly [string, RunOptions]>([
	["nothing", {}],
	["a part of a group", { audit: { strays: "reported" } }],
	["the defaults", { onSignal: "end", signalGraceMs: 35_000 }],
	["the same strategy", { cleanup: spare }],
	[
		"the same object, another with equal settings, in another order",
		{
			protections: [
				protection({ name: "b", settings: { graceMs: 5, python: undefined } }),
				alone,
			],
		},
	],
])("who asks for %s agrees with the run", (_, given) => {
	assertAgrees("createPool", given, OPENED, "/data");
});

test.each<readonly [string, RunOptions, string, string]>([
	["audit.intervalMs", { audit: { intervalMs: 100 } }, "100", "1000"],
	["audit.strays", { audit: { strays: "killed" } }, '"killed"', '"reported"'],
	["history.runs", { history: { runs: 3 } }, "3", "200"],
	["onSignal", { onSignal: "ignore" }, '"ignore"', '"end"'],
	["signalGraceMs", { signalGraceMs: 5 }, "5", "35000"],
	["cleanup", { cleanup: () => "reap" }, "a function", "another one"],
	["protections", { protections: [] }, "[]", '[a({}), b({"graceMs":5})]'],
	[
		"protections",
		{
			protections: [alone, protection({ name: "b", settings: { graceMs: 6 } })],
		},
		'[a({}), b({"graceMs":6})]',
		'[a({}), b({"graceMs":5})]',
	],
	[
		"protections",
		// Another object without settings: nobody knows whether it does the same.
		{ protections: [protection(), OPENED.protections[1] as Protection] },
		'[a({}), b({"graceMs":5})]',
		'[a({}), b({"graceMs":5})]',
	],
	[
		"protections",
		{
			protections: [
				alone,
				protection({
					name: "b",
					settings: { graceMs: 5, python: undefined },
					whenUnavailable: "refuse",
				}),
			],
		},
		'[a({}), b({"graceMs":5})]',
		'[a({}), b({"graceMs":5})]',
	],
])(
	"another value of %s is an error with both values and what to do",
	(option, given, asked, opened) => {
		expect(() => assertAgrees("createPool", given, OPENED, "/data")).toThrow(
			expect.objectContaining({
				name: "OptionsError",
				code: "RUN_OPTION_CONFLICT",
				ran: "no",
				message: `createPool: "${option}" is ${asked} here, but this program's run in /data was opened with ${opened}. All pools of a run share its options, and they cannot change while it is open. Pass the same value or leave it out, set it where the run is opened, or use another dataDir.`,
			}),
		);
	},
);

test("who asks for another control of the run gets an error with both", () => {
	assertAgrees("createPool", { control: true }, OPENED, "/data");
	expect(() =>
		assertAgrees(
			"createPool",
			{ control: { scopes: ["act"] } },
			OPENED,
			"/data",
		),
	).toThrow(
		'"control" is ["act"] here, but this program\'s run in /data was opened with ["read","logs"]',
	);
});

test("control is on by default, in production too; the environment turns it off, whatever the program says", () => {
	const scopes = (
		control: RunOptions["control"],
		env: NodeJS.ProcessEnv,
	): readonly string[] =>
		resolveRunOptions("openRun", { control }, env).control;
	const production = { NODE_ENV: "production" };
	for (const control of [undefined, true])
		for (const env of [{}, production])
			expect(scopes(control, env)).toEqual(["read", "logs"]);
	for (const control of [undefined, true, { scopes: ["act"] }] as const)
		expect(scopes(control, { SNAKEPIT_CONTROL: "0" })).toEqual([]);
	expect(scopes(false, {})).toEqual([]);
	expect(scopes({ scopes: ["call", "read"] }, production)).toEqual([
		"read",
		"call",
	]);
	for (const wrong of ["yes", "1"])
		expect(() => scopes(undefined, { SNAKEPIT_CONTROL: wrong })).toThrow(
			"SNAKEPIT_CONTROL must be 0, which turns control off, or not be set",
		);
});
