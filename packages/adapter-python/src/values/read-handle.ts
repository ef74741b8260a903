import type { CallSession } from "@snakepit/core/adapter";
import { Handle } from "./handle.ts";
import type { ImageReader } from "./image-reader.ts";

/** Reads the handle in an extension: a token, and the name of the object's class. */
export function readHandle(
	reader: ImageReader,
	[token, type]: readonly unknown[],
	session: CallSession | undefined,
): Handle {
	return token instanceof Uint8Array && typeof type === "string"
		? new Handle(token, type, session)
		: reader.fail("a handle without a token and a type");
}
