import { expect, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import { createPool } from "../../src/index.ts";
import {
	checkedConnection,
	checkedLaunch,
} from "../../src/worker/adapter-checks.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const program = { executable: "sleep", args: ["1000"] };
const stream = (fd: number) => ({ fd, kind: "stream" });
const connection = {
	execute: async () => undefined,
	[Symbol.asyncDispose]: async () => {},
};

test.each([
	[program],
	[{ executable: "sleep" }],
	[{ ...program, env: { A: "1", B: undefined }, cwd: "/", stdio: "adapter" }],
	[{ ...program, launchPayload: { any: 1 }, dumpSignal: "SIGUSR1" }],
	[{ ...program, descriptors: [stream(3), stream(255)] }],
	[{ ...program, descriptors: [stream(4)], launchPayload: {} }],
])("what can be executed passes as it is: %j", (spec) => {
	expect(checkedLaunch("mine", spec)).toBe(spec);
});

test.each([
	[undefined, /launch\(\) of the adapter mine: .*must be an object, got undef/],
	[{ ...program, args: [1] }, /"args" must be an array of strings, got \[1\]/],
	[{ ...program, executable: "" }, /"executable"/],
	[{ ...program, sdtio: "adapter" }, /Did you mean "stdio"/],
	[{ ...program, stdio: "pipe" }, /"stdio" must be "pool" or "adapter"/],
	[{ ...program, env: { A: 1 } }, /"env" must be an object with string values/],
	[{ ...program, descriptors: stream(3) }, /"descriptors" must be an array/],
	[{ ...program, descriptors: [stream(2)] }, /"fd" must be .* from 3 to 255/],
	[{ ...program, descriptors: [stream(256)] }, /"fd" must be .* got 256/],
	[
		{ ...program, descriptors: [{ fd: 3, kind: "pipe" }] },
		/"kind" must be "str/,
	],
	[
		{ ...program, descriptors: [{ ...stream(3), port: 1 }] },
		/no option "port"/,
	],
	[
		{ ...program, descriptors: [stream(4), stream(3), stream(4)] },
		/descriptors: another one already has the number 4/,
	],
	[
		{ ...program, descriptors: [stream(3)], launchPayload: {} },
		/the control channel.* already has the number 3.*from 4/,
	],
	[{ ...program, env: null }, /"env" must be an object with string values/],
])("what cannot is an error that names it: %j", (spec, message) => {
	expect(() => checkedLaunch("mine", spec)).toThrow(
		expect.objectContaining({
			name: "OptionsError",
			message: expect.stringMatching(message),
		}),
	);
});

test("a connection is one when it can be called and disposed of", () => {
	expect(checkedConnection(connection)).toBe(connection);
	expect(() => checkedConnection(undefined)).toThrow(/no execute\(\)/);
	expect(() => checkedConnection({})).toThrow(/no execute\(\)/);
	expect(() => checkedConnection({ execute: connection.execute })).toThrow(
		/no \[Symbol\.asyncDispose\]\(\)/,
	);
});

test.each([
	["launch", { launch: () => undefined }, "INVALID_OPTION"],
	["connect", { connect: async () => ({}) }, "CONNECT_FAILED"],
])(
	"a pool of an adapter whose %s returns nonsense does not start",
	async (_, wrong, code) => {
		const adapter = {
			name: "mine",
			launch: () => program,
			connect: async () => connection,
			...wrong,
		} as unknown as Adapter;
		await expect(
			createPool({ adapter, size: 1, dataDir: temporaryDirectory() }),
		).rejects.toMatchObject({ code });
	},
);
