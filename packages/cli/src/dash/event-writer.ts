import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { finished } from "node:stream";

/** Writes server-sent events to one page. */
export class EventWriter {
	readonly #response: ServerResponse;
	/** Aborts when the page is gone. */
	readonly gone: AbortSignal;

	constructor(response: ServerResponse) {
		this.#response = response;
		const gone = new AbortController();
		this.gone = gone.signal;
		// The callback also runs if the page has already gone while the run was being attached.
		finished(response, () => gone.abort());
		response.writeHead(200, {
			"content-type": "text/event-stream",
			"cache-control": "no-store",
		});
		response.flushHeaders();
	}

	/** Whether the page still has to read earlier events. */
	get isBlocked(): boolean {
		return this.#response.writableNeedDrain;
	}

	write(name: string, data: unknown): void {
		if (this.gone.aborted) return;
		this.#response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
	}

	/** Resolves when the page has read them, or is gone. */
	async drained(): Promise<void> {
		if (!this.isBlocked || this.gone.aborted) return;
		await once(this.#response, "drain", { signal: this.gone }).catch(() => {});
	}

	end(): void {
		this.#response.end();
	}
}
