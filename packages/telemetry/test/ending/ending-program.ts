// A program whose SDK keeps what it gets until it is flushed or shut down. Its arguments are `dataDir` and what it does
// at SIGTERM. Writes what is exported as lines of JSON.
import { writeSync } from "node:fs";
import { context, logs, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
	BatchLogRecordProcessor,
	LoggerProvider,
} from "@opentelemetry/sdk-logs";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createPool } from "@snakepit/core";
import { telemetry } from "../../src/index.ts";
import { sleeper } from "../live/sleeper.ts";

const [, , dataDir = "", habit = ""] = process.argv;
const say = (fact: object): void =>
	void writeSync(1, `${JSON.stringify(fact)}\n`);
type Done = (result: { readonly code: number }) => void;
const never = {
	scheduledDelayMillis: 3_600_000,
	maxExportBatchSize: 10_000,
	maxQueueSize: 10_000,
};
const tracers = new TracerProvider({
	spanProcessors: [
		new BatchSpanProcessor({
			...never,
			exporter: {
				export: (spans, done: Done) => {
					for (const { name } of spans) say({ span: name });
					done({ code: 0 });
				},
				shutdown: async () => {},
			},
		}),
	],
});
const loggers = new LoggerProvider({
	processors: [
		new BatchLogRecordProcessor({
			...never,
			exporter: {
				export: (records, done: Done) => {
					for (const { eventName } of records) say({ event: eventName });
					done({ code: 0 });
				},
				forceFlush: async () => {},
				shutdown: async () => {},
			},
		}),
	],
});
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(tracers);
logs.setGlobalLoggerProvider(loggers);
const shutDown = async (): Promise<void> => {
	await Promise.all([tracers.shutdown(), loggers.shutdown()]);
};

if (habit === "the SDK shuts itself down") process.on("SIGTERM", shutDown);
const pool = await createPool({
	adapter: sleeper,
	dataDir,
	size: 1,
	instruments: [telemetry()],
	...(habit === "the program closes first"
		? { onSignal: "ignore" }
		: { signalGraceMs: 1_000 }),
});
if (habit === "the program closes first")
	process.once("SIGTERM", async (signal) => {
		await pool.close();
		await shutDown();
		process.kill(process.pid, signal);
	});
if (habit !== "nothing is left to do") setInterval(() => {}, 1_000_000);
say({ ready: true });
