import type { IncomingMessage } from "node:http";
import type { ControlClock } from "./controlled-run.ts";
import { BODY_BYTES, REQUEST_MS } from "./limits.ts";
import type { Refusal } from "./route.ts";

/** What a request brings. */
export type RequestBody =
	| {
			readonly kind: "object";
			readonly fields: Readonly<Record<string, unknown>>;
	  }
	| { readonly kind: "refused"; readonly refusal: Refusal };

/** Reads the body of a request: a JSON object, or nothing, which is an empty one. */
export async function readBody(
	request: IncomingMessage,
	clock: ControlClock,
): Promise<RequestBody> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	let isLate = false;
	const timer = clock.after(REQUEST_MS, () => {
		isLate = true;
		request.destroy();
	});
	try {
		for await (const chunk of request.iterator({ destroyOnReturn: false })) {
			bytes += (chunk as Buffer).length;
			if (bytes > BODY_BYTES)
				return refused({
					status: 413,
					code: "BODY_TOO_LARGE",
					message: `The body has more than ${BODY_BYTES} bytes.`,
				});
			chunks.push(chunk as Buffer);
		}
	} catch (error) {
		return refused({
			status: 408,
			code: "REQUEST_INCOMPLETE",
			message: isLate
				? `The request was not complete after ${REQUEST_MS} ms.`
				: `The request ended early: ${String(error)}.`,
		});
	} finally {
		timer.cancel();
	}
	return parsed(Buffer.concat(chunks).toString("utf8"));
}

function parsed(text: string): RequestBody {
	if (text === "") return { kind: "object", fields: {} };
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value === "object" && value !== null && !Array.isArray(value))
			return {
				kind: "object",
				fields: value as Readonly<Record<string, unknown>>,
			};
	} catch {
		// Rejected below, like everything else that is not an object.
	}
	return refused({
		status: 400,
		code: "INVALID_REQUEST",
		message: "The body must be a JSON object.",
	});
}

function refused(refusal: Refusal): RequestBody {
	return { kind: "refused", refusal };
}
