// SDK 2 registered with its API, and the package with its own, newer one: as in a program where a dependency brings
// another version. Prints as one line of JSON what the package says of it, and what the SDK got.
import { metrics, trace } from "@opentelemetry/api";
import { logs } from "@opentelemetry/api-logs";
import {
	InMemoryLogRecordExporter,
	LoggerProvider,
	SimpleLogRecordProcessor,
} from "@opentelemetry/sdk-logs";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import {
	BasicTracerProvider,
	InMemorySpanExporter,
	SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { EventOf, SnakepitEvent } from "@snakepit/core";
import { doctor } from "@snakepit/core/inspect";
import { scripts, virtualPool } from "@snakepit/core/testing";
import { telemetry } from "../../src/index.ts";
import type { OnNewerApi } from "./program.ts";

const spans = new InMemorySpanExporter();
const records = new InMemoryLogRecordExporter();
trace.setGlobalTracerProvider(
	new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
);
metrics.setGlobalMeterProvider(new MeterProvider());
logs.setGlobalLoggerProvider(
	new LoggerProvider({
		processors: [new SimpleLogRecordProcessor({ exporter: records })],
	}),
);

const instrument = telemetry();
const misconfigured: EventOf<"telemetry.misconfigured">[] = [];
const onEvent = (event: SnakepitEvent): void => {
	if (event.type === "telemetry.misconfigured") misconfigured.push(event);
};
for (const name of ["first", "second"]) {
	const { pool, close } = await virtualPool(
		{ commands: scripts },
		{ name, instruments: [instrument], onEvent },
	);
	await pool.execute("echo", "x");
	await close();
}
const layers = await doctor({ instruments: [instrument] });
const answer: OnNewerApi = {
	misconfigured,
	spans: spans.getFinishedSpans().length,
	events: records.getFinishedLogRecords().map(({ eventName }) => eventName),
	doctor: layers.find(({ layer }) => layer === "telemetry"),
};
process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0));
