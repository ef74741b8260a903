import { StartError } from "./errors.ts";

/** The process that was to fork it ended while it did. */
export class ForkLost extends StartError {
	/** The name of the process source. */
	readonly source: string;

	constructor(executable: string, source: string, cause: Error) {
		super({
			code: "SPAWN_FAILED",
			ran: "no",
			message: `Cannot start ${executable}: the ${source} that forks it was lost (${cause.message}). Start it again.`,
			cause,
		});
		this.source = source;
	}
}
