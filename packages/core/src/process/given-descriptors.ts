import { join } from "node:path";
import type { LaunchDescriptor, ListenerAddress } from "../adapter.ts";
import type { BoundListener, ProcessHost } from "../world.ts";

/** What one process finds open besides 0, 1 and 2. */
export class GivenDescriptors {
	readonly opened: ReadonlyMap<number, "stream" | BoundListener>;
	readonly #opened = new Map<number, "stream" | BoundListener>();

	constructor() {
		this.opened = this.#opened;
	}

	/**
	 * @param directory the process's own.
	 * @throws StartError when a listener cannot be made; close those that were.
	 */
	async open(
		asked: readonly LaunchDescriptor[],
		directory: string,
		host: Pick<ProcessHost, "bindListener">,
	): Promise<void> {
		for (const { fd, kind } of asked)
			this.#opened.set(
				fd,
				kind === "stream"
					? kind
					: await host.bindListener(
							kind === "unix-listener" ? join(directory, `${fd}`) : undefined,
						),
			);
	}

	/** Closes this program's copies of the listeners: the program has its own, or there will be none. */
	close(): void {
		for (const each of this.#opened.values())
			if (each !== "stream") each.close();
	}

	/** @throws TypeError when there is no such listener. */
	address(fd: number): ListenerAddress {
		const listener = this.#opened.get(fd);
		if (listener === undefined || listener === "stream")
			throw new TypeError(
				`listener(${fd}): launch() asked for no listener with this number.`,
			);
		return listener.address;
	}
}
