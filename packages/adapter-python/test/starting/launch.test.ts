import { realpathSync } from "node:fs";
import type { WorkerSlot } from "@snakepit/core/adapter";
import type { RunId } from "@snakepit/core/infrastructure";
import { expect, test } from "vitest";
import { resolveOptions } from "../../src/resolve-options.ts";
import {
	fairThreads,
	launchSpec,
	threadLimits,
} from "../../src/worker/launch-spec.ts";
import { startBench } from "../support/bench.ts";
import { call } from "../support/calls.ts";
import { scratch } from "../support/fake-python.ts";

const slot: WorkerSlot = {
	pool: "p",
	index: 1,
	slots: 4,
	workerId: "p-1",
	incarnation: "aaaaa00-1",
	runId: "aaaaa00" as RunId,
	directory: "/run/x",
	sharedDirectory: undefined,
	callsPerWorker: 3,
	startTimeoutMs: 5_000,
};
const python = (minor: number) => ({
	program: "/python",
	version: [3, minor, 0] as const,
	reason: "",
	changes: new Map(),
});
const host = {
	parallelism: 16,
	env: {},
	program: "shop",
	platform: "linux" as const,
};

test("a worker is started as the protocol says, with its run in its arguments", () => {
	const spec = launchSpec(
		slot,
		python(12),
		resolveOptions({ tools: "/t.py", logLevel: "debug" }),
		host,
	);
	expect([spec.executable, ...(spec.args ?? [])].join(" ")).toBe(
		"/python -P -u -m snakepit_bridge worker --run-id aaaaa00",
	);
	expect(spec.launchPayload).toMatchObject({
		protocol: { min: 1, max: 1 },
		hostPackage: expect.stringMatching(/^@snakepit\/adapter-python \d/),
		socket: "/run/x/s",
		tools: [{ file: "/t.py" }],
		toolPath: [],
		callsPerWorker: 3,
		maxMessageBytes: 64 * 1024 * 1024,
		startTimeoutMs: 5_000,
		logLevel: 10,
	});
	expect(spec.dumpSignal).toBe("SIGQUIT");
});

test.each([
	["the host's program", {}, {}, "shop-workers"],
	["the host's service", { OTEL_SERVICE_NAME: "web" }, {}, "web-workers"],
	[
		"the host's resource",
		{ OTEL_RESOURCE_ATTRIBUTES: "a=b,service.name=my%20web" },
		{},
		"my web-workers",
	],
	[
		"its own variables",
		{ OTEL_SERVICE_NAME: "web" },
		{ OTEL_SERVICE_NAME: "prices" },
		undefined,
	],
	[
		"its own resource",
		{},
		{ OTEL_RESOURCE_ATTRIBUTES: "service.name=prices" },
		undefined,
	],
])(
	"the service of a worker is named after %s",
	(_, hostEnv, env, serviceName) => {
		const options = resolveOptions({
			tools: "/t.py",
			env,
			opentelemetry: "auto",
		});
		const { launchPayload } = launchSpec(slot, python(12), options, {
			...host,
			env: hostEnv,
		});
		expect(launchPayload).toMatchObject({
			telemetry: {
				instrument: true,
				...(serviceName !== undefined && { serviceName }),
			},
		});
		const { telemetry } = launchPayload as { readonly telemetry: object };
		expect(Object.hasOwn(telemetry, "serviceName")).toBe(
			serviceName !== undefined,
		);
	},
);

test("Python 3.10 knows no -P, and leaves the working directory out of the module path itself", () => {
	const { args = [] } = launchSpec(
		slot,
		python(10),
		resolveOptions({ tools: "/t.py" }),
		host,
	);
	expect(args.slice(0, 2)).toEqual(["-u", "-c"]);
	expect(args.slice(3).join(" ")).toBe(
		"-m snakepit_bridge worker --run-id aaaaa00",
	);
});

test("the environment may depend on the slot: a GPU each", () => {
	const env = ({ index }: WorkerSlot) => ({
		CUDA_VISIBLE_DEVICES: String(index),
		HOME: undefined,
	});
	const spec = launchSpec(
		slot,
		python(12),
		resolveOptions({ tools: "/t.py", env }),
		host,
	);
	expect(spec.env).toMatchObject({ CUDA_VISIBLE_DEVICES: "1" });
	expect(spec.env).toHaveProperty("HOME", undefined);
});

test("an environment of a slot that is not an object with string values is refused", () => {
	const env = () => ({ CUDA_VISIBLE_DEVICES: 1 }) as never;
	expect(() =>
		launchSpec(slot, python(12), resolveOptions({ tools: "/t.py", env }), host),
	).toThrow(/"env".*p-1/);
});

test("the cores are shared out, and each worker has one at least", () => {
	expect([fairThreads(16, 4), fairThreads(2, 4), fairThreads(5, 2)]).toEqual([
		4, 1, 2,
	]);
	expect(
		launchSpec(slot, python(12), resolveOptions({ tools: "/t.py" }), host).env,
	).toMatchObject({
		OMP_NUM_THREADS: "4",
		OPENBLAS_NUM_THREADS: "4",
		MKL_NUM_THREADS: "4",
		NUMEXPR_NUM_THREADS: "4",
		VECLIB_MAXIMUM_THREADS: "4",
	});
});

test("a limit that the user has set is never overruled", () => {
	expect(threadLimits(4, { MKL_NUM_THREADS: "8" })).not.toHaveProperty(
		"MKL_NUM_THREADS",
	);
	expect(threadLimits(4, { OMP_NUM_THREADS: "8" })).toEqual({
		VECLIB_MAXIMUM_THREADS: "4",
	});
	const inherit = resolveOptions({
		tools: "/t.py",
		threadsPerWorker: "inherit",
	});
	expect(launchSpec(slot, python(12), inherit, host).env).toEqual({
		PYTHONUNBUFFERED: "1",
	});
});

test("environment and working directory reach the tools", async () => {
	const cwd = realpathSync(scratch());
	const { connection } = await startBench({
		cwd,
		env: ({ index }) => ({ GPU: `${index}` }),
		threadsPerWorker: 3,
	});
	expect(await call(connection, "environment", ["GPU"])).toBe("0");
	expect(await call(connection, "environment", ["OMP_NUM_THREADS"])).toBe(
		process.env["OMP_NUM_THREADS"] ?? "3",
	);
	expect(await call(connection, "working_directory")).toBe(cwd);
});
