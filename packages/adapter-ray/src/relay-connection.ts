import { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import { connect, type PeerCertificate } from "node:tls";
import { framedOver, type Transport } from "@snakepit/adapter-python/transport";
import type {
	LocatedRun,
	RemoteUsage,
	WorkerProcess,
} from "@snakepit/core/adapter";

/** What the gateway of a pool reports about itself in its ready line. */
export interface GatewayFacts {
	/** The version of Ray. */
	readonly ray: string;
	/** Of the cluster. */
	readonly address: string;
	/** PEM: the certificate that the host shows to relays; `ca` if the user has an authority. */
	readonly tls: {
		readonly certificate: string;
		readonly key: string;
		readonly ca: string | null;
	};
	/** Of `runsElsewhere`, those that the cluster knows. */
	readonly located: readonly LocatedRun[];
}

/** The facts that a worker on a node reports in addition to those of every worker. */
interface RelayFacts {
	/** Of the worker, on its node. */
	readonly pid: number;
	/** Where the relay listens, and its certificate as PEM. */
	readonly relay: {
		readonly host: string;
		readonly port: number;
		readonly certificate: string;
		/** How many bytes of one value travel outside frames; 0 if the node has no shared memory. */
		readonly sharedBytes: number;
	};
	readonly node: {
		readonly id: string;
		readonly name: string;
		readonly address: string;
	};
}

type Connected = Pick<WorkerProcess, "slot" | "ready"> | undefined;

/** The gateway with which this worker was started. */
export function gatewayOf(worker: Connected): GatewayFacts {
	return worker?.slot.companion?.ready as GatewayFacts;
}

/** The relay and the node of this worker. */
export function relayOf(worker: Connected): RelayFacts {
	return worker?.ready as RelayFacts;
}

/** Fast, and available in every OpenSSL with TLS 1.3. */
const CIPHER = "TLS_AES_128_GCM_SHA256";

/** Frames as on a private socket, over TLS to the relay on the node. Only that certificate is accepted, so nothing else can answer instead. */
export const RELAYED: Transport = framedOver(
	{
		connected: "secureConnect",
		isRelayed: true,
		dial: ({ worker }, onread) => {
			const { host, port, certificate } = relayOf(worker).relay;
			const { tls } = gatewayOf(worker);
			const pinned = new X509Certificate(certificate).raw;
			// Node's types lack `onread`, which its documentation and code have.
			const options = {
				host,
				port,
				ca: tls.ca ?? certificate,
				cert: tls.certificate,
				key: tls.key,
				minVersion: "TLSv1.3",
				ciphers: CIPHER,
				checkServerIdentity: (_: string, { raw }: PeerCertificate) =>
					pinned.equals(raw) ? undefined : new Error(OTHER_CERTIFICATE),
				onread,
			} as const;
			const socket = connect(options).setNoDelay(true);
			// Otherwise, pending data would be copied into one piece and completely encrypted before any of it is sent.
			return Object.assign(socket, { _writev: null });
		},
	},
	{ sidebandBytes: (worker) => relayOf(worker).relay.sharedBytes },
);

const OTHER_CERTIFICATE =
	"the certificate of the program that answered is not that of the worker's relay";

/** A report has two numbers. */
const LONGEST_LINE = 1_000;

/** The resource use of a worker on its node, as its stand-in reports it: a line of JSON about once a second while it changes. */
export class ReportedUsage {
	/** The latest report; `undefined` before the first. */
	latest: RemoteUsage | undefined;
	private rest = "";

	constructor(reports: Duplex) {
		reports.setEncoding("utf8");
		reports.on("data", (text: string) => this.take(text));
		// It ends with the stand-in, which the pool notices.
		reports.on("error", () => {});
	}

	private take(text: string): void {
		const lines = (this.rest + text).split("\n");
		this.rest = (lines.pop() ?? "").slice(-LONGEST_LINE);
		const report = usageIn(lines.at(-1));
		if (report !== undefined) this.latest = report;
	}
}

function usageIn(line: string | undefined): RemoteUsage | undefined {
	try {
		const { cpuMs, residentBytes } = JSON.parse(line ?? "{}");
		return Number.isFinite(cpuMs) && Number.isFinite(residentBytes)
			? { cpuTimeMs: cpuMs, residentBytes }
			: undefined;
	} catch {
		return undefined;
	}
}
