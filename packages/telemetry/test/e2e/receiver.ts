import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type {
	AlwaysOffSampler,
	ReadableSpan,
	SpanExporter,
} from "@opentelemetry/sdk-trace";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import { createPool, type Pool } from "@snakepit/core";
import { onTestFinished } from "vitest";
import { telemetry } from "../../src/index.ts";
import { MemorySdk, treeOf } from "../support/memory-sdk.ts";

const DEADLINE_MS = 30_000;

type Attributes = Readonly<Record<string, unknown>>;

/** What everything has that is received. */
interface Sent {
	/** Who sent it. */
	readonly resource: Attributes;
	readonly scope: string;
	readonly attributes: Attributes;
}

/** A span as the receiver got it, whoever sent it. */
export interface ReceivedSpan extends Sent {
	readonly signal: "span";
	readonly traceId: string;
	readonly spanId: string;
	readonly parentSpanId: string;
	readonly name: string;
	/** The names of its events. */
	readonly events: readonly string[];
	readonly links: readonly {
		readonly spanId: string;
		readonly attributes: Attributes;
	}[];
}

/** One series of a metric at one moment. */
interface ReceivedPoint extends Sent {
	readonly signal: "point";
	readonly name: string;
	readonly unit: string;
	readonly kind: "sum" | "gauge" | "histogram";
	/** Of a histogram the number of measurements. */
	readonly value: number;
	/** Of a histogram. */
	readonly boundaries?: readonly number[];
}

/** A log record; an event where it has a name. */
interface ReceivedRecord extends Sent {
	readonly signal: "record";
	readonly eventName: string;
	readonly severity: string;
	readonly body: unknown;
	/** Of the span in which it was exported; empty outside of one. */
	readonly traceId: string;
	readonly spanId: string;
}

type Received = ReceivedSpan | ReceivedPoint | ReceivedRecord;

/** An OTLP receiver in a process of its own; gone when the test is finished. */
export class Receiver {
	readonly url: string;
	readonly spans: ReceivedSpan[] = [];
	readonly points: ReceivedPoint[] = [];
	readonly records: ReceivedRecord[] = [];
	#marks = 0;
	readonly #waiting = new Set<() => void>();

	private constructor(url: string) {
		this.url = url;
	}

	static async start(python: string): Promise<Receiver> {
		const child = spawn(
			python,
			[join(import.meta.dirname, "otlp_receiver.py")],
			{
				stdio: ["ignore", "pipe", "inherit"],
			},
		);
		onTestFinished(async () => {
			const exit = once(child, "exit");
			child.kill("SIGKILL");
			await exit;
		});
		const lines = createInterface({ input: child.stdout });
		const [first] = (await once(lines, "line")) as [string];
		const receiver = new Receiver(`http://127.0.0.1:${JSON.parse(first).port}`);
		lines.on("line", (line) => receiver.#take(JSON.parse(line)));
		return receiver;
	}

	#take(received: Received): void {
		if (received.signal === "span") this.spans.push(received);
		else if (received.signal === "point") this.points.push(received);
		else this.records.push(received);
		for (const look of [...this.#waiting]) look();
	}

	/** Resolves when a span of this name was received, of which `isMeant` is so. */
	until(
		name: string,
		isMeant: (span: ReceivedSpan) => boolean = () => true,
	): Promise<ReceivedSpan> {
		return this.#until(
			() => this.spans.find((span) => span.name === name && isMeant(span)),
			() => `No span "${name}"; received: ${namesOf(this.spans)}.`,
		);
	}

	/** Resolves when a point of this metric was received, of which `isMeant` is so. */
	untilPoint(
		name: string,
		isMeant: (point: ReceivedPoint) => boolean = () => true,
	): Promise<ReceivedPoint> {
		return this.#until(
			() => this.points.find((point) => point.name === name && isMeant(point)),
			() => `No metric "${name}"; received: ${namesOf(this.points)}.`,
		);
	}

	/** Resolves when a log record was received that is meant. */
	untilRecord(
		isMeant: (record: ReceivedRecord) => boolean,
	): Promise<ReceivedRecord> {
		return this.#until(
			() => this.records.find(isMeant),
			() =>
				`No such record; received: ${this.records.map(({ eventName, body }) => eventName || body)}.`,
		);
	}

	#until<What>(
		find: () => What | undefined,
		explain: () => string,
	): Promise<What> {
		return new Promise((resolve, reject) => {
			const tooLate = setTimeout(() => {
				this.#waiting.delete(look);
				reject(new Error(explain()));
			}, DEADLINE_MS);
			const look = () => {
				const found = find();
				if (found === undefined) return;
				this.#waiting.delete(look);
				clearTimeout(tooLate);
				resolve(found);
			};
			this.#waiting.add(look);
			look();
		});
	}

	/** Resolves when all that the receiver has answered is here. */
	async caughtUp(): Promise<void> {
		const name = `mark ${++this.#marks}`;
		await fetch(`${this.url}/v1/traces`, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify([{ signal: "span", name }]),
		});
		await this.until(name);
	}

	/** The trace that a span is part of, children indented below their parents. */
	tree(of: ReceivedSpan): string {
		const shown = this.spans.map((span) => ({
			...span,
			name: `${span.name} (${span.scope})`,
		}));
		return treeOf(shown, of);
	}
}

function namesOf(all: readonly { readonly name: string }[]): string {
	return [...new Set(all.map(({ name }) => name))].join(", ");
}

/** Sends spans to a receiver; reports a failure as exporters do. */
class ReceiverExporter implements SpanExporter {
	readonly #url: string;

	constructor(url: string) {
		this.#url = `${url}/v1/traces`;
	}

	export(
		spans: ReadableSpan[],
		done: (result: { code: number; error?: Error }) => void,
	): void {
		const sent = spans.map(
			(span): ReceivedSpan => ({
				signal: "span",
				resource: span.resource.attributes,
				traceId: span.spanContext().traceId,
				spanId: span.spanContext().spanId,
				parentSpanId: span.parentSpanContext?.spanId ?? "",
				name: span.name,
				scope: span.instrumentationScope.name,
				attributes: span.attributes,
				events: span.events.map(({ name }) => name),
				links: span.links.map(({ context, attributes = {} }) => ({
					spanId: context.spanId,
					attributes,
				})),
			}),
		);
		fetch(this.#url, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(sent),
		}).then(
			() => done({ code: 0 }),
			(error) => done({ code: 1, error }),
		);
	}

	async shutdown(): Promise<void> {}
}

/** The development environment, which has the SDK for Python. */
export const PYTHON: string = fileURLToPath(
	new URL("../../../../python/.venv/bin/python", import.meta.url),
);

interface TracedPool {
	readonly pool: Pool;
	readonly sdk: MemorySdk;
	/** Where the ledger is: a directory of the test's own. */
	readonly dataDir: string;
}

/** A pool of one Python worker that exports to `url`, as this program does; closed when the test is finished. */
export async function openTracedPool(
	url: string,
	sampler?: AlwaysOffSampler,
): Promise<TracedPool> {
	const sdk = new MemorySdk({
		exporter: new ReceiverExporter(url),
		...(sampler && { sampler }),
	}).register();
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-trace-"));
	const pool = await createPool({
		adapter: pythonGrpc({
			tools: join(import.meta.dirname, "tools.py"),
			python: PYTHON,
			hostFunctions: {
				catalogue: (of: string) => of.length,
				sell: () => {
					throw Object.assign(new Error("sold out"), { code: "SOLD_OUT" });
				},
			},
			env: {
				OTEL_TRACES_EXPORTER: "otlp",
				OTEL_EXPORTER_OTLP_ENDPOINT: url,
				OTEL_SERVICE_NAME: "workers",
				OTEL_EXPORTER_OTLP_TIMEOUT: "5",
				OTEL_BSP_SCHEDULE_DELAY: "100",
				OTEL_BLRP_SCHEDULE_DELAY: "100",
				OTEL_METRIC_EXPORT_INTERVAL: "100",
				OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED: "true",
			},
		}),
		dataDir,
		size: 1,
		output: { echo: "none" },
		instruments: [telemetry()],
	});
	onTestFinished(async () => {
		await pool.close();
		rmSync(dataDir, { recursive: true, force: true });
	});
	return { pool, sdk, dataDir };
}
