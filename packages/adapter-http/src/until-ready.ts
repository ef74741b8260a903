import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { StartError } from "@snakepit/core";
import { NotProven } from "./port-owner.ts";
import type { HttpStartErrorCode } from "./start-error-codes.ts";
import type { WorkerServer } from "./worker-server.ts";

/** The pause between two requests to a server that is starting; it doubles each time. */
const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 100;

/**
 * Waits until a server that starts gives an answer that `suffices`.
 *
 * @param late called when the time to start is over, with the last status; `undefined` where there was no answer.
 * @throws StartError `LISTENER_NOT_PROVEN`; AbortError.
 */
export async function untilReady(
	server: WorkerServer,
	suffices: (status: number) => boolean,
	signal: AbortSignal,
	late: (status: number | undefined) => void,
): Promise<IncomingMessage> {
	let status: number | undefined;
	const aborted = (): void => {
		const { reason } = signal;
		if (reason instanceof StartError && reason.code === "START_TIMEOUT")
			late(status);
	};
	signal.addEventListener("abort", aborted);
	try {
		for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 2, LAST_LOOK_MS)) {
			const response = await server.ask(signal).catch((error) => {
				if (error instanceof NotProven) throw taken(error);
				server.lookForListener();
				return undefined; // It does not listen there, or not yet.
			});
			status = response?.statusCode ?? status;
			if (response !== undefined && suffices(status ?? 0)) return response;
			await delay(wait, undefined, { signal });
		}
	} finally {
		signal.removeEventListener("abort", aborted);
	}
}

function taken(cause: NotProven): StartError<HttpStartErrorCode> {
	return new StartError<HttpStartErrorCode>({
		code: "LISTENER_NOT_PROVEN",
		ran: "no",
		message: `No request was sent, because ${cause.message}. Use listen: "unix": no other program can take a socket.`,
		cause,
	});
}
