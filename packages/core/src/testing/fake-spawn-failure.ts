import { StartError } from "../contract/errors.ts";

/** The refusal to start a fake process. */
export function spawnFailed(why = "the test lets it fail"): StartError {
	return new StartError({
		code: "SPAWN_FAILED",
		ran: "no",
		message: `The process could not be started: ${why}.`,
	});
}
