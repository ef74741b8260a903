import type { IncomingMessage } from "node:http";

/** The limit of a run's own server. */
const BODY_BYTES = 1 << 20;

/** The object in a request's body; `undefined` if the body is longer than 1 MiB or not a JSON object. */
export async function readJson(
	request: IncomingMessage,
): Promise<Readonly<Record<string, unknown>> | undefined> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	try {
		for await (const chunk of request) {
			bytes += (chunk as Buffer).length;
			if (bytes > BODY_BYTES) return undefined;
			chunks.push(chunk as Buffer);
		}
		const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
		return typeof value === "object" && value !== null && !Array.isArray(value)
			? (value as Readonly<Record<string, unknown>>)
			: undefined;
	} catch {
		return undefined;
	}
}
