/** Requests and notifications to one worker: the client that `pool.use` gives to its tasks. */
export interface JsonRpcClient {
	/**
	 * Resolves to the result of a request. After `signal` aborts the program is asked to cancel it.
	 *
	 * @throws ToolError the program answered with an error; InputError it has no such method, or the params are wrong;
	 *   CallAbortedError; ConnectionBrokenError.
	 */
	request(
		method: string,
		params?: unknown,
		options?: {
			readonly signal?: AbortSignal | undefined;
			/** Gets each part that the program reports, if the adapter has `progress`. */
			readonly onPart?: ((part: unknown) => void) | undefined;
		},
	): Promise<unknown>;
	notify(method: string, params?: unknown): void;
}
