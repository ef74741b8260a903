/** Progress that a command reports while it runs. */
export interface CallProgress {
	/** From 0 to 1; `undefined` where the command cannot say. */
	readonly fraction: number | undefined;
	/** What it is doing, for people; may be empty. */
	readonly message: string;
}
