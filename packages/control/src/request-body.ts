import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Refusal } from "./control-server.ts";

/** The body of a request. */
export type RequestBody =
	| { readonly kind: "text"; readonly text: string }
	| { readonly kind: "too_large"; readonly maxBytes: number }
	/** It ended early, or `signal` was aborted. */
	| { readonly kind: "incomplete"; readonly why: string };

/**
 * How much of a body that is too large is still received: a client that is sending reads its answer only afterwards,
 * and a connection that is closed before is an error without a reason for it.
 */
const RECEIVED = 16;

/**
 * Reads the body of a request as UTF-8. Of a body that is larger than `maxBytes`, nothing is kept.
 *
 * @param signal ends the request.
 */
export async function readBody(
	request: IncomingMessage,
	maxBytes: number,
	signal?: AbortSignal,
): Promise<RequestBody> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	const end = (): void => void request.destroy();
	if (signal?.aborted) end();
	signal?.addEventListener("abort", end, { once: true });
	try {
		for await (const chunk of request.iterator({ destroyOnReturn: false })) {
			bytes += (chunk as Buffer).length;
			if (bytes <= maxBytes) chunks.push(chunk as Buffer);
			else chunks.length = 0;
			if (bytes > maxBytes * RECEIVED) break;
		}
	} catch (error) {
		const reason = signal?.aborted ? signal.reason : error;
		return { kind: "incomplete", why: String(reason) };
	} finally {
		signal?.removeEventListener("abort", end);
	}
	return bytes > maxBytes
		? { kind: "too_large", maxBytes }
		: { kind: "text", text: Buffer.concat(chunks).toString("utf8") };
}

/** What a request asks for. */
export type RequestObject =
	| {
			readonly kind: "object";
			readonly fields: Readonly<Record<string, unknown>>;
	  }
	| { readonly kind: "refused"; readonly refusal: Refusal };

/** Reads the body of a request as a JSON object; no body is an empty one. The parameters are those of `readBody`. */
export async function readObject(
	...[request, maxBytes, signal]: Parameters<typeof readBody>
): Promise<RequestObject> {
	const body = await readBody(request, maxBytes, signal);
	if (body.kind === "too_large")
		return refused({
			status: 413,
			code: "BODY_TOO_LARGE",
			message: `The body has more than ${maxBytes} bytes.`,
		});
	if (body.kind === "incomplete")
		return refused({
			status: 408,
			code: "REQUEST_INCOMPLETE",
			message: `The request was not received as a whole: ${body.why}.`,
		});
	if (body.text === "") return { kind: "object", fields: {} };
	try {
		const value: unknown = JSON.parse(body.text);
		if (typeof value === "object" && value !== null && !Array.isArray(value))
			return {
				kind: "object",
				fields: value as Readonly<Record<string, unknown>>,
			};
	} catch {
		// Refused below, like everything else that is not an object.
	}
	return refused({
		status: 400,
		code: "INVALID_REQUEST",
		message: "The body must be a JSON object.",
	});
}

function refused(refusal: Refusal): RequestObject {
	return { kind: "refused", refusal };
}

/** Compares secrets in constant time: it does not depend on where they differ, or on their lengths. */
export function isSameSecret(text: string, secret: string): boolean {
	const digest = (value: string): Buffer =>
		createHash("sha256").update(value).digest();
	return timingSafeEqual(digest(text), digest(secret));
}
