/** Returns the promise's result, or rejects with the signal's reason if the signal aborts first. */
export async function abortable<T>(
	promise: Promise<T>,
	signal: AbortSignal,
): Promise<T> {
	const aborted = Promise.withResolvers<never>();
	const abort = (): void => aborted.reject(signal.reason);
	if (signal.aborted) abort();
	signal.addEventListener("abort", abort);
	try {
		return await Promise.race([promise, aborted.promise]);
	} finally {
		signal.removeEventListener("abort", abort);
	}
}
