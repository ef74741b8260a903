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
	/** A number, if the program follows the protocol. */
	readonly code: number | string | undefined;
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
	if (!isId && id !== null) return undefined;
	if (isFailure(error)) return { kind: "error", id, error };
	if (!isId) return undefined;
	if (error === undefined || error === null) {
		if ("result" in value) return { kind: "result", id, result };
		if (!isVersion2(value)) return undefined;
		const message = `The answer has neither a result nor an error: ${shown(value)}`;
		return { kind: "error", id, error: { code: undefined, message } };
	}
	// A line of a log may have an id and an error, too.
	return isVersion2(value) || "result" in value || typeof error === "object"
		? { kind: "error", id, error: readFailure(error) }
		: undefined;
}

function isFailure(value: unknown): value is Failure {
	const { code, message } = (value ?? {}) as Partial<Failure>;
	return typeof code === "number" && typeof message === "string";
}

function isVersion2(value: object): boolean {
	return "jsonrpc" in value && value.jsonrpc === "2.0";
}

/** An error that does not have the form that the protocol demands; its call must end nevertheless. */
function readFailure(error: unknown): Failure {
	if (typeof error === "string") return { code: undefined, message: error };
	const { code, message, data } = error as Record<string, unknown>;
	return {
		code:
			typeof code === "number" || typeof code === "string" ? code : undefined,
		message: typeof message === "string" ? message : shown(error),
		data,
	};
}

function shown(value: unknown): string {
	return JSON.stringify(value).slice(0, 1_000);
}
