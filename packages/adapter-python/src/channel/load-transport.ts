import { StartError } from "@snakepit/core";
import type { AdapterKind, OpenChannel } from "../adapter-kind.ts";

/**
 * Loads the code of the adapter's transport.
 *
 * @throws StartError `CONNECT_FAILED` if it does not load.
 */
export async function loadTransport({
	maker,
	transport,
}: Pick<AdapterKind, "maker" | "transport">): Promise<OpenChannel> {
	try {
		return await transport.load();
	} catch (cause) {
		const reason = cause instanceof Error ? cause.message : String(cause);
		throw new StartError({
			code: "CONNECT_FAILED",
			ran: "no",
			message: `${maker}: the packages of the transport "${transport.name}" cannot be loaded (${reason.replace(/\n.*/s, "")}).${transport.remedy ?? ""}`,
			cause,
		});
	}
}
