import { X509Certificate } from "node:crypto";
import { connect, type PeerCertificate } from "node:tls";
import { framedOver, type Transport } from "@snakepit/adapter-python/transport";
import { gatewayOf, relayOf } from "./remote-facts.ts";

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
	{ besideBytes: (worker) => relayOf(worker).relay.sharedBytes },
);

const OTHER_CERTIFICATE =
	"the certificate of the program that answered is not that of the worker's relay";
