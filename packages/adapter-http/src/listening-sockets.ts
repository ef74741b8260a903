import { endianness } from "node:os";

/** A TCP socket that waits for connections. */
export interface ListeningSocket {
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
export const WILDCARDS: readonly string[] = [ALL_IPV4, ALL];
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
