import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";

const SIGNALS = ["traces", "metrics", "logs"] as const;
type Signal = (typeof SIGNALS)[number];

/** What became of the exports of one signal. */
interface Exports {
	taken: number;
	/** Of the first that was not taken. */
	refusal: string | undefined;
}

/** Source: https://nodejs.org/api/diagnostics_channel.html#http */
const ANSWERED = "http.client.response.finish";
const FAILED = "http.client.request.error";

/**
 * Counts what a receiver takes of this program's exports, by their answers: the
 * errors of the SDK do not say which signal they are of.
 */
export class ExportTally implements Disposable {
	readonly #endpoint: string;
	readonly #exports = new Map<Signal, Exports>();

	/** @param endpoint - The base URL, to which `/v1/traces` and its siblings are added. */
	constructor(endpoint: string) {
		this.#endpoint = endpoint;
		subscribe(ANSWERED, this.#answered);
		subscribe(FAILED, this.#failed);
	}

	readonly #answered = (message: unknown): void => {
		const { request, response } = message as {
			request: ClientRequest;
			response: IncomingMessage;
		};
		const { statusCode = 0, statusMessage = "" } = response;
		this.#count(
			request,
			statusCode >= 200 && statusCode < 300
				? undefined
				: `${statusCode} ${statusMessage}`.trim(),
		);
	};

	readonly #failed = (message: unknown): void => {
		const { request, error } = message as {
			request: ClientRequest;
			error: NodeJS.ErrnoException;
		};
		this.#count(request, error.message || error.code || error.name);
	};

	/** Says which signals were taken and which were not, and why; `undefined` when all that was sent was taken. */
	get problem(): string | undefined {
		const refused = this.#those(({ refusal }) => refusal !== undefined);
		if (refused.length === 0) return undefined;
		const whole = this.#those(({ refusal }) => refusal === undefined);
		const reasons = [
			...new Set(refused.map((name) => this.#exports.get(name)?.refusal)),
		];
		const parts = [
			...(whole.length === 0 ? [] : [`${listed(whole)} arrived`]),
			...refused.map((name) => {
				const { taken = 0 } = this.#exports.get(name) ?? {};
				return `${name} ${taken === 0 ? "were not taken" : "arrived in part"}`;
			}),
		];
		return `${parts.join(", ")}: ${reasons.join("; ")}`;
	}

	#those(is: (exports: Exports) => boolean): readonly Signal[] {
		return SIGNALS.filter((name) => {
			const exports = this.#exports.get(name);
			return exports !== undefined && is(exports);
		});
	}

	#count(request: ClientRequest, refusal: string | undefined): void {
		const url = `${request.protocol}//${request.getHeader("host")}${request.path}`;
		const signal = SIGNALS.find(
			(name) => url === `${this.#endpoint}/v1/${name}`,
		);
		if (signal === undefined) return;
		const exports = this.#exports.get(signal) ?? {
			taken: 0,
			refusal: undefined,
		};
		if (refusal === undefined) exports.taken += 1;
		else exports.refusal ??= refusal;
		this.#exports.set(signal, exports);
	}

	[Symbol.dispose](): void {
		unsubscribe(ANSWERED, this.#answered);
		unsubscribe(FAILED, this.#failed);
	}
}

/** `a, b and c` */
function listed(names: readonly string[]): string {
	const last = names.at(-1) ?? "";
	return names.length < 2
		? last
		: `${names.slice(0, -1).join(", ")} and ${last}`;
}
