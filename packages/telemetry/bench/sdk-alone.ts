// What no telemetry of this shape can do without: the SDK's own calls for two spans with their attributes, the headers
// of the second, and three measurements. It knows no retries, no errors, no streams and no limits.
import {
	type Histogram,
	propagation,
	ROOT_CONTEXT,
	SpanKind,
	type Tracer,
	trace,
} from "@opentelemetry/api";
import type { CallInstrument, Instrument } from "@snakepit/core/instrument";
import type { Providers } from "./providers.ts";

const POOL = { "snakepit.pool.name": "python" };
const COMMAND = { ...POOL, "snakepit.command": "echo" };

/** The floor below `telemetry()`: nothing that tells as much can cost less. */
export class SdkAlone implements Instrument {
	readonly #tracer: Tracer;
	readonly #wait: Histogram;
	readonly #attempt: Histogram;
	readonly #duration: Histogram;

	constructor({ tracerProvider, meterProvider }: Providers) {
		this.#tracer = tracerProvider.getTracer("floor");
		const meter = meterProvider.getMeter("floor");
		this.#wait = meter.createHistogram("wait");
		this.#attempt = meter.createHistogram("attempt");
		this.#duration = meter.createHistogram("duration");
	}

	attach(): ReturnType<Instrument["attach"]> {
		return { hear: () => {}, accept: ({ callId }) => this.begin(callId) };
	}

	begin(callId: string): CallInstrument {
		const call = this.#tracer.startSpan(
			"call echo",
			{ kind: SpanKind.INTERNAL, attributes: { ...COMMAND } },
			ROOT_CONTEXT,
		);
		call.setAttribute("snakepit.call.id", callId);
		call.setAttribute("snakepit.call.shape", "unary");
		const within = trace.setSpan(ROOT_CONTEXT, call);
		return {
			queued: () => {},
			dispatched: () => {
				const attempt = this.#tracer.startSpan(
					"attempt",
					{ kind: SpanKind.CLIENT },
					within,
				);
				attempt.setAttribute("snakepit.pool.name", "python");
				attempt.setAttribute("snakepit.worker.id", "python-0");
				attempt.setAttribute("snakepit.worker.incarnation", "abcdefg-1");
				attempt.setAttribute("snakepit.attempt", 1);
				attempt.setAttribute("process.pid", 7);
				const traceContext: Record<string, string> = {};
				propagation.inject(trace.setSpan(within, attempt), traceContext);
				return {
					traceContext,
					backCall: (_, run) => run(),
					cancelled: () => {},
					released: () => {
						this.#wait.record(0.001, { ...POOL });
						this.#attempt.record(0.001, { ...COMMAND });
						attempt.end();
					},
				};
			},
			retried: () => {},
			settled: () => {
				call.setAttribute("snakepit.call.outcome", "succeeded");
				call.setAttribute("snakepit.call.attempts", 1);
				call.end();
				this.#duration.record(0.002, {
					...COMMAND,
					"snakepit.call.outcome": "succeeded",
				});
			},
		};
	}
}
