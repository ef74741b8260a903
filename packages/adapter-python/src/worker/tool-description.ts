import type { ToolRecord } from "../frames/frames.ts";

/** What a worker reports about one of its tools. */
export interface ToolDescription {
	readonly name: string;
	/** The docstring. */
	readonly description: string;
	/** One result for `execute`, or chunks for `stream`. */
	readonly shape: "unary" | "stream";
	/** How many calls its function takes at once; absent where each call is by itself. */
	readonly batchMax?: number | undefined;
	/** Whether it reads an input stream. */
	readonly takesInput: boolean;
	/** JSON Schema 2020-12 of the arguments, by name. */
	readonly argumentsSchema: unknown;
	/** JSON Schema 2020-12 of the result, or of a chunk. */
	readonly resultSchema: unknown;
}

/** What a worker reported. @throws SyntaxError when a schema is not JSON. */
export function descriptionOf(tool: ToolRecord): ToolDescription {
	return {
		name: tool.name,
		description: tool.description,
		shape: tool.shape === "STREAM" ? "stream" : "unary",
		batchMax: tool.batchMax,
		takesInput: tool.takesInput,
		argumentsSchema: JSON.parse(tool.argumentsSchemaJson),
		resultSchema: JSON.parse(tool.resultSchemaJson),
	};
}
