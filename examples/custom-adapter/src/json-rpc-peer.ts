import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

const KINDS = new Map([
	[-32601, "no_such_method"],
	[-32800, "cancelled"],
]);

/** The other side's error response. */
export class Fault extends Error {
	readonly kind: string;
	readonly trace: string;

	constructor(error: { code: number; message: string; data?: unknown }) {
		super(error.message);
		this.kind = KINDS.get(error.code) ?? "failed";
		this.trace = String(error.data ?? "");
	}
}

/** The other side is gone, or talks nonsense. */
export class Gone extends Error {}

interface Request extends PromiseWithResolvers<unknown> {
	readonly onPart: (part: unknown) => void;
}

/** JSON-RPC 2.0, one JSON object a line, with `$/cancelRequest` and `$/progress` as language servers have them. */
export class JsonRpcPeer {
	readonly #input: Writable;
	readonly #requests = new Map<number, Request>();
	#lastId = 0;
	#gone: Gone | undefined;

	/** @param onGone called once, with the reason, unless `end` was called before. */
	constructor(
		input: Writable,
		output: Readable,
		onGone: (reason: Gone) => void,
	) {
		const broken = (what: string): void => this.#lose(what, onGone);
		this.#input = input.on("error", ({ message }) =>
			broken(`it takes no requests: ${message}`),
		);
		const lines = createInterface({ input: output }).on("line", (line) => {
			try {
				this.#take(JSON.parse(line));
			} catch {
				broken(`it wrote something that is not JSON-RPC: ${line.slice(0, 80)}`);
			}
		});
		// The pool sees it as well, and waits whether the process ends by itself.
		lines.on("close", () => this.end("it has ended its output"));
	}

	/** Settles when it is answered, also after a cancellation. Rejects with a `Fault`, or `Gone`. */
	async request(
		method: string,
		params: unknown,
		signal: AbortSignal,
		onPart: Request["onPart"],
	): Promise<unknown> {
		if (this.#gone) throw this.#gone;
		const id = ++this.#lastId;
		const request: Request = { ...Promise.withResolvers<unknown>(), onPart };
		const cancel = (): void =>
			this.#send({ method: "$/cancelRequest", params: { id } });
		this.#requests.set(id, request);
		this.#send({ id, method, params });
		signal.addEventListener("abort", cancel);
		return request.promise.finally(() => {
			signal.removeEventListener("abort", cancel);
			this.#requests.delete(id);
		});
	}

	/** There is nobody to talk to any more: what was asked rejects. */
	end(why: string): void {
		this.#lose(why, () => undefined);
	}

	#lose(why: string, onGone: (reason: Gone) => void): void {
		if (this.#gone) return;
		this.#gone = new Gone(why);
		for (const { reject } of this.#requests.values()) reject(this.#gone);
		onGone(this.#gone);
	}

	#send(message: object): void {
		this.#input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	}

	// biome-ignore lint/suspicious/noExplicitAny: whatever is not as expected throws, and ends the conversation.
	#take({ id, params, error, result }: any): void {
		if (params) this.#requests.get(params.token)?.onPart(params.value);
		else if (error) this.#requests.get(id)?.reject(new Fault(error));
		else this.#requests.get(id)?.resolve(result);
	}
}
