import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { onTestFinished } from "vitest";

const DEADLINE_MS = 30_000;

/** A span as the receiver got it, whoever sent it. */
export interface ReceivedSpan {
	readonly traceId: string;
	readonly spanId: string;
	readonly parentSpanId: string;
	readonly name: string;
	readonly scope: string;
	readonly attributes: Readonly<Record<string, unknown>>;
	/** The names of its events. */
	readonly events: readonly string[];
	readonly links: readonly {
		readonly spanId: string;
		readonly attributes: Readonly<Record<string, unknown>>;
	}[];
}

/** An OTLP receiver in a process of its own; gone when the test is finished. */
export class Receiver {
	readonly url: string;
	readonly spans: ReceivedSpan[] = [];
	#changed: () => void = () => {};

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
		lines.on("line", (line) => {
			receiver.spans.push(JSON.parse(line));
			receiver.#changed();
		});
		return receiver;
	}

	/** Resolves when a span of this name was received, of which `isMeant` is so. */
	async until(
		name: string,
		isMeant: (span: ReceivedSpan) => boolean = () => true,
	): Promise<ReceivedSpan> {
		const tooLate = AbortSignal.timeout(DEADLINE_MS);
		for (;;) {
			const found = this.spans.find(
				(span) => span.name === name && isMeant(span),
			);
			if (found !== undefined) return found;
			await new Promise<void>((resolve, reject) => {
				this.#changed = resolve;
				tooLate.addEventListener("abort", () =>
					reject(
						new Error(
							`No span "${name}"; received: ${this.spans.map((span) => span.name)}.`,
						),
					),
				);
			});
		}
	}

	/** The trace that a span is part of, children indented below their parents. */
	tree(of: ReceivedSpan): string {
		const own = this.spans.filter(({ traceId }) => traceId === of.traceId);
		const ids = new Set(own.map(({ spanId }) => spanId));
		const under = (parent: string | undefined, depth: number): string[] =>
			own
				.filter(({ parentSpanId }) =>
					parent === undefined
						? !ids.has(parentSpanId)
						: parentSpanId === parent,
				)
				.flatMap(({ name, scope, spanId }) => [
					`${"  ".repeat(depth)}${name} (${scope})`,
					...under(spanId, depth + 1),
				]);
		return under(undefined, 0).join("\n");
	}
}

/** Sends spans to a receiver; reports a failure as exporters do. */
export class ReceiverExporter implements SpanExporter {
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
