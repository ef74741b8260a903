/** A request or notification, a response, or a failure of JSON-RPC 2.0. */
export type Incoming =
	| {
			readonly kind: "request";
			readonly id: Id;
			readonly method: string;
			readonly params: unknown;
	  }
	| {
			readonly kind: "notification";
			readonly method: string;
			readonly params: unknown;
	  }
	| { readonly kind: "result"; readonly id: Id; readonly result: unknown }
	| { readonly kind: "error"; readonly id: Id | null; readonly error: Failure };

export type Id = number | string;

export interface Failure {
	readonly code: number;
	readonly message: string;
	readonly data?: unknown;
}

/** Reads a message; `undefined` if it is not one. */
export function readMessage(text: string): readonly Incoming[] | undefined {
	let parsed: unknown;
	try {
		parsed = JSON.parse(text);
	} catch {
		return undefined;
	}
	// A batch.
	const all = (Array.isArray(parsed) ? parsed : [parsed]).map(incoming);
	return all.every((each) => each !== undefined) ? all : undefined;
}

function incoming(value: unknown): Incoming | undefined {
	if (typeof value !== "object" || value === null) return undefined;
	const { id, method, params, result, error } = value as Record<
		string,
		unknown
	>;
	const isId = typeof id === "number" || typeof id === "string";
	if (typeof method === "string")
		return isId
			? { kind: "request", id, method, params }
			: { kind: "notification", method, params };
	if (isFailure(error))
		return isId || id === null ? { kind: "error", id, error } : undefined;
	return isId && "result" in value ? { kind: "result", id, result } : undefined;
}

function isFailure(value: unknown): value is Failure {
	const { code, message } = (value ?? {}) as Partial<Failure>;
	return typeof code === "number" && typeof message === "string";
}
