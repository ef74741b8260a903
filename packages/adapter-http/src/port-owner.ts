import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { endianness } from "node:os";
import { SystemProcessHost } from "@snakepit/core/infrastructure";

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
			throw new NotProven(`no process listens on ${this.#portText} any more`);
		const sockets = this.#sockets.map(({ inode }) => `socket:[${inode}]`);
		for (const pids of this.#processes()) {
			this.#links = linksTo(sockets, pids);
			if (sockets.every((socket) => this.#links.has(socket))) return;
		}
		this.#links = new Map();
		throw new NotProven(
			`the process that listens on ${this.#portText} does not belong to the worker (process group ${this.#leader})`,
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
		const pids = [this.#leader];
		yield pids;
		const machine = new SystemProcessHost();
		const leader = machine.observe(this.#leader);
		const below = typeof leader === "string" ? [] : machine.descendants(leader);
		for (const { identity } of below) pids.push(identity.pid);
		yield pids;
		for (const { identity } of machine.members(this.#leader))
			pids.push(identity.pid);
		yield pids;
	}

	get #portText(): string {
		return `port ${this.#port} of ${this.#host}`;
	}
}

function linksTo(
	sockets: readonly string[],
	pids: readonly number[],
): ReadonlyMap<string, string> {
	const links = new Map<string, string>();
	for (const pid of pids)
		for (const path of descriptorsOf(pid)) {
			const target = linkAt(path);
			if (target !== undefined && sockets.includes(target))
				links.set(target, path);
		}
	return links;
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

/** A TCP socket that waits for connections. */
interface ListeningSocket {
	/** As 32-bit words of hexadecimal digits: one of IPv4, four of IPv6. */
	readonly address: string;
	readonly inode: string;
}

/** The kernel's number of the state LISTEN. Source: include/net/tcp_states.h. */
const LISTEN = "0A";
const FIELDS =
	/^\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ ([0-9A-F]{2})(?: +\S+){5} +(\d+)/;

const ALL_IPV4 = "00000000";
const ALL = "0".repeat(32);
/** Other machines may connect to these. */
const WILDCARDS: readonly string[] = [ALL_IPV4, ALL];
/** The addresses that also receive a connection to the key's address. */
const ADDRESSES: Readonly<Record<"127.0.0.1" | "::1", readonly string[]>> = {
	"127.0.0.1": [ALL_IPV4, ALL, "7F000001", `${"0".repeat(16)}0000FFFF7F000001`],
	"::1": [ALL, `${"0".repeat(31)}1`],
};

/**
 * Those that a connection to this address can reach, in the text of `/proc/net/tcp` or `/proc/net/tcp6`.
 *
 * Source: Documentation/networking/proc_net_tcp.rst.
 */
export function reachable(
	text: string,
	host: "127.0.0.1" | "::1",
	port: number,
	order: "LE" | "BE" = endianness(),
): readonly ListeningSocket[] {
	return text.split("\n").flatMap((line) => {
		const [, shown = "", hexPort = "", state, inode = ""] =
			FIELDS.exec(line) ?? [];
		const address = order === "LE" ? inNetworkOrder(shown) : shown;
		return state === LISTEN &&
			Number.parseInt(hexPort, 16) === port &&
			ADDRESSES[host].includes(address)
			? [{ address, inode }]
			: [];
	});
}

/** Each word is in the byte order of this processor. */
function inNetworkOrder(words: string): string {
	return words.replaceAll(/(..)(..)(..)(..)/g, "$4$3$2$1");
}
