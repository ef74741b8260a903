import { join } from "node:path";
import type { LaunchDescriptor, ListenerAddress } from "../contract/launch.ts";
import type { GivenDescriptor, ProcessHost } from "../contract/world.ts";

/** What one process finds open besides 0, 1 and 2. */
export class GivenDescriptors {
	readonly opened: ReadonlyMap<number, GivenDescriptor>;
	readonly #opened = new Map<number, GivenDescriptor>();
	/** Those of listeners that the launcher made. */
	#ports: ReadonlyMap<number, number> = new Map();

	constructor() {
		this.opened = this.#opened;
	}

	/**
	 * @param directory the process's own.
	 * @param maker who makes listeners: the launcher, where there is one, because it can whoever forks the process.
	 * @throws StartError when a listener cannot be made; close those that were.
	 */
	async open(
		asked: readonly LaunchDescriptor[],
		directory: string,
		maker: "launcher" | Pick<ProcessHost, "bindListener">,
	): Promise<void> {
		for (const { fd, kind } of asked) {
			const path =
				kind === "unix-listener" ? join(directory, `${fd}`) : undefined;
			if (kind === "stream") this.#opened.set(fd, kind);
			else if (maker === "launcher") this.#opened.set(fd, { path });
			else this.#opened.set(fd, await maker.bindListener(path));
		}
	}

	/** The program runs. @param ports of the listeners that the launcher made. */
	executed(ports: ReadonlyMap<number, number>): void {
		this.#ports = ports;
	}

	/** Closes this program's copies of the listeners: the program has its own, or there will be none. */
	close(): void {
		for (const each of this.#opened.values())
			if (each !== "stream" && "fd" in each) each.close();
	}

	/** @throws TypeError when there is no such listener. */
	address(fd: number): ListenerAddress {
		const listener = this.#opened.get(fd);
		if (listener === undefined || listener === "stream")
			throw new TypeError(
				`listener(${fd}): launch() asked for no listener with this number.`,
			);
		if ("fd" in listener) return listener.address;
		const { path } = listener;
		// Without a port, the process is gone: 0 is never a listening port.
		return path === undefined
			? { host: "127.0.0.1", port: this.#ports.get(fd) ?? 0 }
			: { path };
	}
}
