/** Why a command ends, for its exit status. */
export type Failure = "failed" | "usage" | "absent" | "silent" | "refused";

/** The exit status of every command that does not do what it was asked. */
export const EXIT_STATUS: Readonly<Record<Failure, number>> = {
	failed: 1,
	usage: 2,
	/** There is no such run, pool or worker. */
	absent: 3,
	/** The program does not answer. */
	silent: 4,
	/** The program does not allow it. */
	refused: 5,
};

/** Ends a command with a message for people. */
export class CommandFailed extends Error {
	readonly failure: Failure;

	constructor(failure: Failure, message: string) {
		super(message);
		this.failure = failure;
	}
}
