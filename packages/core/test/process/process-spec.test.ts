import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
	type RunId,
} from "../../src/contract/identity.ts";
import type { LaunchSpec, WorkerSlot } from "../../src/contract/launch.ts";
import { fingerprint, processSpec } from "../../src/process/owned-process.ts";

const slot: WorkerSlot = {
	pool: "p",
	index: 0,
	slots: 1,
	workerId: "p-0",
	incarnation: "k3x9a2p-1",
	runId: "k3x9a2p" as RunId,
	directory: "/run/1",
	sharedDirectory: undefined,
	callsPerWorker: 1,
	startTimeoutMs: 1_000,
};
const program: LaunchSpec = { executable: "python3", args: ["-m", "x"] };
const specOf = (
	launch: Partial<LaunchSpec> = {},
	environment: Readonly<Record<string, string | undefined>> = {},
) =>
	processSpec({ ...program, ...launch }, slot, {
		marker: "the-marker",
		environment,
	});

test("what the adapter asks for is executed, in the directory it names", () => {
	expect(specOf({ cwd: "/srv" })).toMatchObject({
		executable: "python3",
		args: ["-m", "x"],
		cwd: "/srv",
	});
	expect(specOf().cwd).toBeUndefined();
	expect(specOf({ args: undefined }).args).toEqual([]);
});

describe("the environment", () => {
	test("is the host's, with the adapter's wishes over it", () => {
		const { env } = specOf(
			{ env: { A: "adapter", B: "adapter" } },
			{ A: "host", C: "host" },
		);
		expect(env).toMatchObject({ A: "adapter", B: "adapter", C: "host" });
	});

	test("loses a variable that the adapter sets to undefined, and has none that is", () => {
		const { env } = specOf(
			{ env: { A: undefined } },
			{ A: "host", B: undefined },
		);
		expect(Object.keys(env).sort()).toEqual(
			[INCARNATION_VARIABLE, MARKER_VARIABLE].sort(),
		);
	});

	test.each([
		[undefined, ["AWS_SECRET_ACCESS_KEY", "LANG", "PATH", "TOKEN"]],
		["all", ["AWS_SECRET_ACCESS_KEY", "LANG", "PATH", "TOKEN"]],
		["minimal", ["LANG", "PATH"]],
		[
			["TOKEN", "ABSENT"],
			["LANG", "PATH", "TOKEN"],
		],
	] as const)("inherits with %j of the host's %j", (inheritEnv, names) => {
		const host = {
			...{ AWS_SECRET_ACCESS_KEY: "s", TOKEN: "t" },
			...{ PATH: "/bin", LANG: "C", ABSENT: undefined },
		};
		const { env } = specOf({ inheritEnv, env: { MINE: "1" } }, host);
		const ours = [INCARNATION_VARIABLE, MARKER_VARIABLE, "MINE"];
		expect(Object.keys(env).sort()).toEqual([...names, ...ours].sort());
	});

	test('inherits with "minimal" where certificates are, and proxies that have no password', () => {
		const host = {
			HTTPS_PROXY: "http://proxy.example:3128",
			http_proxy: "http://user:password@proxy.example:3128",
			...{ NO_PROXY: "localhost,@internal", SSL_CERT_FILE: "/etc/ca.pem" },
			NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
		};
		const { http_proxy: _secret, ...open } = host;
		expect(specOf({ inheritEnv: "minimal" }, host).env).toMatchObject(open);
		expect(specOf({ inheritEnv: "minimal" }, host).env).not.toHaveProperty(
			"http_proxy",
		);
		const asked = specOf({ inheritEnv: ["http_proxy"] }, host).env;
		expect(asked).toMatchObject(host);
	});

	test("carries marker and incarnation, whatever host and adapter put there", () => {
		const names = fc.constantFrom(MARKER_VARIABLE, INCARNATION_VARIABLE, "A");
		const variables = fc.dictionary(
			names,
			fc.option(fc.string(), { nil: undefined }),
		);
		fc.assert(
			fc.property(variables, variables, (wished, inherited) => {
				const { env } = specOf({ env: wished }, inherited);
				expect(env[MARKER_VARIABLE]).toBe("the-marker");
				expect(env[INCARNATION_VARIABLE]).toBe("k3x9a2p-1");
			}),
		);
	});
});

describe("descriptors", () => {
	test("standard input is empty unless the adapter converses over it", () => {
		expect(specOf().stdin).toBe("empty");
		expect(specOf({ stdio: "pool" }).stdin).toBe("empty");
		expect(specOf({ stdio: "adapter" }).stdin).toBe("pipe");
	});

	test("descriptor 3 is the control channel exactly when there is a payload, also an empty one", () => {
		expect(specOf().control).toBe(false);
		expect(specOf({ launchPayload: undefined }).control).toBe(false);
		for (const launchPayload of [null, {}, 0, ""])
			expect(specOf({ launchPayload }).control).toBe(true);
	});
});

test("a fingerprint names the program and hides its arguments", () => {
	const shown = fingerprint({
		executable: "/opt/python/bin/python3",
		args: ["--password", "hunter2"],
	});
	expect(shown).toMatch(/^python3#[0-9a-f]{12}$/);
	expect(shown).not.toContain("hunter2");
});

test("the same command has the same fingerprint, another one another", () => {
	const of = (executable: string, ...args: string[]): string =>
		fingerprint({ executable, args });
	expect(of("a", "b c")).toBe(of("a", "b c"));
	const others = [of("a", "b", "c"), of("a"), of("/x/a", "b c"), of("a", "bc")];
	expect(new Set([of("a", "b c"), ...others]).size).toBe(5);
});

test("environment and directory are no part of it", () => {
	const command = { executable: "a", args: ["b"] };
	expect(fingerprint({ ...command, cwd: "/x", env: { SECRET: "s" } })).toBe(
		fingerprint(command),
	);
});
