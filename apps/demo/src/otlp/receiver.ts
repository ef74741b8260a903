/** Enough for one that is busy. */
const PATIENCE_MS = 3_000;

/**
 * Asks whether anybody takes OTLP there, by an export of nothing. Any answer will
 * do: what a receiver does not like it says when it gets something.
 *
 * @returns why not; `undefined` when it answers.
 */
export async function whyNoReceiver(
	endpoint: string,
	patienceMs: number = PATIENCE_MS,
): Promise<string | undefined> {
	try {
		const answer = await fetch(`${endpoint}/v1/traces`, {
			method: "POST",
			headers: { "content-type": "application/x-protobuf" },
			body: new Uint8Array(),
			signal: AbortSignal.timeout(patienceMs),
		});
		await answer.body?.cancel();
		return undefined;
	} catch (error) {
		const { name, message, cause } = error as Error;
		if (name === "TimeoutError") return `no answer within ${patienceMs} ms`;
		return cause instanceof Error ? cause.message || cause.name : message;
	}
}
