import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { EventOf } from "@snakepit/core";
import { doctor } from "@snakepit/core/inspect";
import type { LayerReport } from "@snakepit/core/protection";
import {
	afterEach,
	beforeEach,
	expect,
	onTestFinished,
	test,
	vi,
} from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { ExportWatch } from "../../src/export-watch.ts";
import { telemetry } from "../../src/index.ts";
import { Drops } from "../../src/limits.ts";
import { resolveOptions } from "../../src/options.ts";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";
import { nowhere, receiver } from "./receiver.ts";

beforeEach(() => {
	new MemorySdk().register();
});
afterEach(() => {
	unregister();
	vi.unstubAllEnvs();
});

async function inspected(): Promise<LayerReport> {
	const layers = await doctor({ instruments: [telemetry()] });
	const found = layers.find(({ layer }) => layer === "telemetry");
	if (found === undefined) throw new Error("The doctor says nothing of it.");
	return found;
}

test("the doctor tries every endpoint that the variables name, with their headers", async () => {
	const alive = await receiver(200);
	const own = await receiver(400);
	vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `${alive.url}/otlp/`);
	vi.stubEnv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", `${own.url}/mine`);
	vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc");
	expect(await inspected()).toEqual({
		layer: "telemetry",
		status: "active",
		detail: `a provider is registered for traces, metrics, log records; ${alive.url}/otlp/v1/traces, ${alive.url}/otlp/v1/metrics, ${own.url}/mine answer`,
	});
	const requests = [...alive.requests, ...own.requests];
	expect(requests.map(({ path }) => path).sort()).toEqual([
		"/mine",
		"/otlp/v1/metrics",
		"/otlp/v1/traces",
	]);
	for (const { headers, bytes } of requests) {
		expect(headers.authorization).toBe("Bearer abc");
		expect(headers["content-type"]).toBe("application/x-protobuf");
		expect(bytes).toBe(0);
	}
});

test.each([
	{
		...{ OTEL_TRACES_EXPORTER: "console", OTEL_LOGS_EXPORTER: "none" },
		OTEL_METRICS_EXPORTER: "prometheus",
	},
	{ OTEL_SDK_DISABLED: "true" },
])("what is not sent as OTLP is not tried: %j", async (variables) => {
	vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", await nowhere());
	for (const [name, value] of Object.entries(variables))
		vi.stubEnv(name, value);
	expect(await inspected()).toMatchObject({ status: "active" });
});

test("of workers whose SDK logs again and again that it cannot export, one is reported, and of tools that log errors none", () => {
	const watch = new ExportWatch(resolveOptions({}), new Drops());
	const reported: unknown[] = [];
	for (const logger of ["shop", "opentelemetry.exporter", "opentelemetry.sdk"])
		watch.hear(
			{
				...{ type: "worker.logged", wallMs: 1, workerId: "python-0" },
				record: { level: "error", logger, message: "no receiver" },
			} as unknown as EventOf<"worker.logged">,
			(problem) => reported.push(problem),
		);
	expect(reported).toMatchObject([
		{
			reason: "worker_exporter_failed",
			message: expect.stringContaining("opentelemetry.exporter: no receiver"),
		},
	]);
});

test.each([
	[401, "OTEL_EXPORTER_OTLP_HEADERS"],
	[404, "it has no such path"],
	[503, "it answers 503"],
] as const)(
	"the doctor says that an endpoint refuses data: %s",
	async (status, reason) => {
		const { url } = await receiver(status);
		vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", url);
		expect(await inspected()).toMatchObject({
			status: "unavailable",
			detail: expect.stringContaining(reason),
			remedy: expect.stringContaining("OTEL_EXPORTER_OTLP_ENDPOINT"),
		});
	},
);

test.each(["http/protobuf", "grpc"])(
	"the doctor says that nobody listens at an endpoint: %s",
	async (protocol) => {
		const url = await nowhere();
		vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", url);
		vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
		const { status, detail } = await inspected();
		expect(status).toBe("unavailable");
		expect(detail).toContain(`but ${url}`);
		expect(detail).toContain("ECONNREFUSED");
	},
);

test("the doctor waits 5 s for an endpoint that never answers", {
	timeout: 30_000,
}, async () => {
	const { url } = await receiver("never");
	vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", url);
	expect(await inspected()).toMatchObject({
		status: "unavailable",
		detail: expect.stringContaining("no answer within 5 s"),
	});
});

test("without such a variable, the doctor exports a span, and says why it cannot", async () => {
	const sdk = new MemorySdk().register();
	expect(await inspected()).toMatchObject({
		status: "active",
		detail: expect.stringContaining('the span "doctor" was exported'),
	});
	expect((await sdk.spans()).map(({ name }) => name)).toEqual(["doctor"]);
	sdk.tracers.forceFlush = async () => {
		throw [new Error("the receiver is asleep")];
	};
	expect(await inspected()).toMatchObject({
		status: "unavailable",
		detail: expect.stringContaining("the receiver is asleep"),
	});
});

test("a program whose receiver is down reports it once, with what to do", {
	timeout: 90_000,
}, async () => {
	const url = await nowhere();
	const { child, events } = startHost(url);
	const [first] = await events.next();
	expect(first).toMatchObject({
		reason: "exporter_failed",
		message: expect.stringMatching(/cannot export .*ECONNREFUSED/),
		remedy: expect.stringContaining("OTEL_EXPORTER_OTLP_ENDPOINT"),
	});
	const said = text(child.stderr as Readable);
	(child.stdin as Writable).end();
	await once(child, "exit");
	expect(await events.next()).toEqual([]);
	expect((await said).match(/SNAKEPIT_TELEMETRY_MISCONFIGURED/g)).toHaveLength(
		1,
	);
});

/** A host with its exporters at `url`; closed when the test is finished. */
function startHost(url: string): {
	readonly child: ChildProcess;
	readonly events: {
		next(): Promise<readonly EventOf<"telemetry.misconfigured">[]>;
	};
} {
	const child = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			join(import.meta.dirname, "host-program.ts"),
			temporaryDirectory(),
		],
		{
			stdio: ["pipe", "pipe", "pipe"],
			env: {
				...process.env,
				OTEL_EXPORTER_OTLP_ENDPOINT: url,
				OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
				OTEL_BSP_SCHEDULE_DELAY: "60000",
			},
		},
	);
	onTestFinished(async () => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		const exit = once(child, "exit");
		child.kill("SIGTERM");
		await exit;
	});
	const lines = createInterface({ input: child.stdout as Readable })[
		Symbol.asyncIterator
	]();
	return {
		child,
		events: {
			next: async () => {
				const { value, done } = await lines.next();
				return done ? [] : [JSON.parse(value)];
			},
		},
	};
}
