// A program with the instrumentations of gRPC, HTTP and connections, and pools of every transport. Prints as one line of
// JSON the spans that its SDK received. `unfollowed` as an argument: without what telemetry does against them.
import { createRequire, syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { trace } from "@opentelemetry/api";
import { GrpcInstrumentation } from "@opentelemetry/instrumentation-grpc";
import { HttpInstrumentation } from "@opentelemetry/instrumentation-http";
import { NetInstrumentation } from "@opentelemetry/instrumentation-net";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import { http } from "@snakepit/adapter-http";
import { openRun, type Pool, type PoolOptions } from "@snakepit/core";
import type { Instrument } from "@snakepit/core/instrument";
import { telemetry } from "../../src/index.ts";
import { PYTHON } from "../e2e/receiver.ts";
import { MemorySdk } from "../support/memory-sdk.ts";

/** A span, as the program prints it. */
export interface SpanOfProgram {
	readonly name: string;
	/** The package that has made it. */
	readonly by: string;
	/** The name of its parent; `undefined` for a root, or a parent that was not exported. */
	readonly within: string | undefined;
}

const [dataDir = "", manner] = process.argv.slice(2);
const sdk = new MemorySdk().register();
const instrumentations = [
	new GrpcInstrumentation(),
	new HttpInstrumentation(),
	new NetInstrumentation(),
];
for (const each of instrumentations) each.setTracerProvider(sdk.tracers);
// They patch what is required; the modules of this program see that, too.
const required = createRequire(
	new URL("../../../adapter-grpc-python/src/index.ts", import.meta.url),
);
for (const module of ["@grpc/grpc-js", "http", "net"]) required(module);
syncBuiltinESMExports();

function unfollowed(instrument: Instrument): Instrument {
	return {
		attach: (pool) => {
			const follower = instrument.attach(pool);
			return {
				hear: (event) => follower.hear(event),
				accept: (call) => follower.accept?.(call),
			};
		},
	};
}

const followed = telemetry();
const instruments = [manner === "unfollowed" ? unfollowed(followed) : followed];
const tracer = trace.getTracer("program");

/** Opens a pool; resolves when two of its pings were answered, and closes it after its call. */
async function use(
	options: Pick<PoolOptions, "adapter">,
	call: (pool: Pool) => Promise<unknown>,
): Promise<void> {
	const pool = await run.createPool({
		...{ ...options, size: 1, instruments },
		heartbeat: { intervalMs: 100 },
		output: { echo: "none" },
		onEvent: (event) => {
			if (event.type === "worker.logged")
				tracer.startSpan("a log record").end();
			if (event.type === "worker.output" && event.line === "echoed")
				tracer.startSpan("a printed line").end();
		},
	});
	let left = 2;
	await new Promise<void>((resolve) =>
		pool.on("heartbeat.answered", () => {
			if (--left === 0) resolve();
		}),
	);
	await call(pool);
	await run.job(["true"]).result();
	await pool.close();
}

// A pool that waits for a ping does not keep a program running.
setInterval(() => {}, 60_000);
// Its guard is there before anything can follow it, and is no transport of a pool.
const run = await openRun({ dataDir });
const before = (await sdk.spans()).length;
const tools = join(import.meta.dirname, "tools.py");
for (const transport of ["grpc", "framed"] as const)
	await use(
		{ adapter: pythonGrpc({ tools, python: PYTHON, transport }) },
		(pool) => pool.execute("echo", { text: "x" }),
	);
const server = join(import.meta.dirname, "server.mjs");
await use(
	{
		adapter: http({
			command: [process.execPath, server, "{socket}"],
			health: "/health",
		}),
	},
	(pool) => pool.execute("POST /echo", { text: "x" }),
);

const spans = (await sdk.spans()).slice(before);
const names = new Map(
	spans.map((span) => [span.spanContext().spanId, span.name]),
);
const printed = spans.map(
	(span): SpanOfProgram => ({
		name: span.name,
		by: span.instrumentationScope.name,
		within: names.get(span.parentSpanContext?.spanId ?? ""),
	}),
);
process.stdout.write(`${JSON.stringify(printed)}\n`, () => process.exit(0));
