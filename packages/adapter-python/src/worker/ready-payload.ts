import { StartError } from "@snakepit/core";
import type { PythonStartErrorCode } from "../start-error-codes.ts";
import {
	HOST_PACKAGE,
	isSameRelease,
	PROTOCOL,
	releaseMismatch,
} from "./same-release.ts";

/**
 * Checks the ready line of a worker.
 *
 * @throws StartError `PROTOCOL_MISMATCH`, `VERSION_MISMATCH` with both versions and the remedy, `READY_LINE_INVALID`.
 */
export function checkReadyPayload(
	workerId: string,
	ready: unknown,
	wanted: string,
): void {
	const { protocol, bridge, python, transport } = (ready ?? {}) as Record<
		string,
		unknown
	>;
	if (
		typeof protocol !== "number" ||
		typeof bridge !== "string" ||
		typeof python !== "string"
	) {
		throw new StartError({
			code: "READY_LINE_INVALID",
			ran: "no",
			message: `Worker ${workerId}: its ready line lacks protocol, bridge or python: ${JSON.stringify(ready)}. The program that answered is not snakepit-bridge.`,
		});
	}
	if (protocol < PROTOCOL.min || protocol > PROTOCOL.max) {
		throw new StartError<PythonStartErrorCode>({
			code: "PROTOCOL_MISMATCH",
			ran: "no",
			message: `Worker ${workerId}: snakepit-bridge ${bridge} chose bridge protocol ${protocol}, but ${HOST_PACKAGE} speaks ${PROTOCOL.min} to ${PROTOCOL.max}. Update ${protocol > PROTOCOL.max ? "@snakepit/adapter-python" : "snakepit-bridge"}.`,
		});
	}
	if (!isSameRelease(bridge))
		throw releaseMismatch(
			`Worker ${workerId}`,
			bridge,
			"python -m pip install",
		);
	if ((transport ?? "grpc") !== wanted) {
		throw new StartError<PythonStartErrorCode>({
			code: "PROTOCOL_MISMATCH",
			ran: "no",
			message: `Worker ${workerId}: snakepit-bridge ${bridge} uses the transport ${String(transport ?? "grpc")}, but the adapter asked for "${wanted}". Update snakepit-bridge.`,
		});
	}
}
