import type { ListenerAddress } from "../contract/launch.ts";
import type { BoundListener } from "../contract/world.ts";

/** The listeners of a fake host, to which no client can connect. */
export class FakeListeners {
	/** Those of which the host has a copy. */
	readonly open: ReadonlySet<ListenerAddress>;
	readonly #open = new Set<ListenerAddress>();
	#lastPort = 40_000;

	constructor() {
		this.open = this.#open;
	}

	async bind(path?: string): Promise<BoundListener> {
		const fd = ++this.#lastPort;
		const address: ListenerAddress =
			path === undefined ? { host: "127.0.0.1", port: fd } : { path };
		this.#open.add(address);
		return { address, fd, close: () => this.#open.delete(address) };
	}
}
