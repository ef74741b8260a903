import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** Writes server-sent events to one page. */
export class EventWriter {
	readonly #response: ServerResponse;
	/** Aborts when the page is gone. */
	readonly gone: AbortSignal;

	constructor(response: ServerResponse) {
		this.#response = response;
		const gone = new AbortController();
		this.gone = gone.signal;
		response.on("close", () => gone.abort());
		response.writeHead(200, {
			"content-type": "text/event-stream",
			"cache-control": "no-store",
		});
		response.flushHeaders();
	}

	/** Whether the page has not read yet what was written before. */
	get isBlocked(): boolean {
		return this.#response.writableNeedDrain;
	}

	write(name: string, data: unknown): void {
		if (this.gone.aborted) return;
		this.#response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
	}

	/** Resolves when the page has read, or is gone. */
	async drained(): Promise<void> {
		if (!this.isBlocked || this.gone.aborted) return;
		await once(this.#response, "drain", { signal: this.gone }).catch(() => {});
	}

	end(): void {
		this.#response.end();
	}
}
