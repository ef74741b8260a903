import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { SystemProcessHost } from "@snakepit/core/infrastructure";
import {
	type ListeningSocket,
	reachable,
	WILDCARDS,
} from "./listening-sockets.ts";

/** No process of the worker listens on its port. */
export class NotProven extends Error {
	override readonly name = "NotProven";
}

/** Checks that the worker listens on a port, and not another program that took the port before or after it. Linux only. */
export class PortOwner {
	readonly #host: "127.0.0.1" | "::1";
	readonly #port: number;
	readonly #leader: number;
	/** `/proc/PID/fd/N` of the worker's processes, by what is read there. */
	#links: ReadonlyMap<string, string> = new Map();
	#sockets: readonly ListeningSocket[] = [];

	/** @param leader the worker's pid, which leads its process group. */
	constructor(host: "127.0.0.1" | "::1", port: number, leader: number) {
		this.#host = host;
		this.#port = port;
		this.#leader = leader;
	}

	/** Whether other machines may also connect. */
	get isOpen(): boolean {
		return this.#sockets.some(({ address }) => WILDCARDS.includes(address));
	}

	/**
	 * Proves that a connection that was made earlier reached the worker: each socket that listens on the port belongs to a
	 * process of its group, or to a descendant.
	 *
	 * @throws NotProven.
	 */
	check(): void {
		if (this.#links.size > 0 && this.#stillThere()) return;
		this.#sockets = this.#listening();
		if (this.#sockets.length === 0)
			throw new NotProven(`no process listens on ${this.#shown} any more`);
		const wanted = this.#sockets.map(({ inode }) => `socket:[${inode}]`);
		for (const pids of this.#processes()) {
			this.#links = linksTo(wanted, pids);
			if (wanted.every((socket) => this.#links.has(socket))) return;
		}
		this.#links = new Map();
		throw new NotProven(
			`the process that listens on ${this.#shown} does not belong to the worker (process group ${this.#leader})`,
		);
	}

	/** An open socket has its port alone, so no other owner has to be searched. */
	#stillThere(): boolean {
		return [...this.#links].every(([socket, path]) => linkAt(path) === socket);
	}

	#listening(): readonly ListeningSocket[] {
		return ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((path) => {
			try {
				return reachable(readFileSync(path, "latin1"), this.#host, this.#port);
			} catch {
				return []; // A kernel without IPv6.
			}
		});
	}

	/** First the leader, which is usually the one that listens; then its descendants; last its whole group, for which all processes must be read. */
	*#processes(): Generator<readonly number[]> {
		const found = [this.#leader];
		yield found;
		const machine = new SystemProcessHost();
		const leader = machine.observe(this.#leader);
		const below = typeof leader === "string" ? [] : machine.descendants(leader);
		for (const { identity } of below) found.push(identity.pid);
		yield found;
		for (const { identity } of machine.members(this.#leader))
			found.push(identity.pid);
		yield found;
	}

	get #shown(): string {
		return `port ${this.#port} of ${this.#host}`;
	}
}

function linksTo(
	wanted: readonly string[],
	pids: readonly number[],
): ReadonlyMap<string, string> {
	const found = new Map<string, string>();
	for (const pid of pids)
		for (const path of descriptorsOf(pid)) {
			const target = linkAt(path);
			if (target !== undefined && wanted.includes(target))
				found.set(target, path);
		}
	return found;
}

function descriptorsOf(pid: number): readonly string[] {
	try {
		return readdirSync(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`);
	} catch {
		return []; // The process has ended, or runs as another user.
	}
}

function linkAt(path: string): string | undefined {
	try {
		return readlinkSync(path);
	} catch {
		return undefined;
	}
}
