import { CommandFailed } from "../command/command-failed.ts";

/**
 * Reads `key=value` pairs: a value is JSON if it parses and the tool may take it, otherwise text.
 *
 * @param schema of the arguments, if the tool has one.
 * @throws CommandFailed if an argument is not a pair.
 */
export function callArguments(
	pairs: readonly string[],
	schema?: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
	const properties = (schema?.["properties"] ?? {}) as Schemas;
	return Object.fromEntries(
		pairs.map((pair) => {
			const [, key, value = ""] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
			if (key === undefined)
				throw new CommandFailed(
					"usage",
					`An argument must be key=value, for example numbers=[1,2], got: ${pair}`,
				);
			const parsed = parsedValue(value);
			const types = typesOf(properties[key]);
			const isText = types.includes("string") && !takes(types, parsed);
			return [key, isText ? value : parsed];
		}),
	);
}

type Schema = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, Schema | undefined>>;

/** The JSON types that a schema names: none if it allows any type. */
function typesOf(schema: Schema | undefined): readonly unknown[] {
	const alternatives = schema?.["anyOf"];
	if (Array.isArray(alternatives)) {
		const types = alternatives.map(typesOf);
		return types.some(({ length }) => length === 0) ? [] : types.flat();
	}
	return [schema?.["type"] ?? []].flat();
}

function takes(types: readonly unknown[], value: unknown): boolean {
	if (value === null) return types.includes("null");
	if (Array.isArray(value)) return types.includes("array");
	if (Number.isInteger(value) && types.includes("integer")) return true;
	return types.includes(typeof value);
}

function parsedValue(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}
