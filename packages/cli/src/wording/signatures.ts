import type { ToolSnapshot } from "@snakepit/control";

type Schema = Readonly<Record<string, unknown>>;

/** A longer default is cut. */
const DEFAULT_CHARACTERS = 60;

/** A tool as a function: `mean(numbers: number[], weights: number[] | null = null)`; `-> stream` if it answers with one. */
export function signatureOf({
	name,
	argumentsSchema,
	shape,
}: Pick<ToolSnapshot, "name" | "argumentsSchema" | "shape">): string {
	const { properties, required, additionalProperties } =
		asSchema(argumentsSchema);
	const needed = Array.isArray(required) ? required : [];
	const parameters = Object.entries(asSchema(properties)).map(
		([key, property]) => {
			const { default: value } = asSchema(property);
			const type = typeOf(property);
			if (value !== undefined) return `${key}: ${type} = ${shortJson(value)}`;
			return `${key}${needed.includes(key) ? "" : "?"}: ${type}`;
		},
	);
	const others =
		typeof additionalProperties === "object" && additionalProperties !== null
			? [`...others: ${typeOf(additionalProperties)}`]
			: [];
	const answer = shape === "stream" ? " -> stream" : "";
	return `${name}(${[...parameters, ...others].join(", ")})${answer}`;
}

/** A JSON schema as a type of TypeScript; `any` if it allows anything, or cannot be said shortly. */
function typeOf(given: unknown): string {
	const schema = asSchema(given);
	const { type, items, prefixItems } = schema;
	const options = schema["enum"];
	const alternatives = schema["anyOf"] ?? schema["oneOf"];
	if ("const" in schema) return shortJson(schema["const"]);
	if (Array.isArray(options)) return options.map(shortJson).join(" | ");
	if (Array.isArray(alternatives))
		return [...new Set(alternatives.map(typeOf))].join(" | ");
	if (typeof schema["$ref"] === "string")
		return schema["$ref"].slice(schema["$ref"].lastIndexOf("/") + 1);
	if (Array.isArray(type)) return type.join(" | ");
	if (type === "array") {
		if (Array.isArray(prefixItems))
			return `[${prefixItems.map(typeOf).join(", ")}]`;
		const item = typeOf(items);
		return item.includes(" ") ? `(${item})[]` : `${item}[]`;
	}
	if (type === "object") return objectType(schema);
	return typeof type === "string" ? type : "any";
}

function objectType({
	title,
	properties,
	additionalProperties,
}: Schema): string {
	if (typeof title === "string") return title;
	const names = Object.keys(asSchema(properties));
	if (names.length > 0) return `{ ${names.join(", ")} }`;
	return typeof additionalProperties === "object"
		? `{ [key]: ${typeOf(additionalProperties)} }`
		: "object";
}

function asSchema(value: unknown): Schema {
	return typeof value === "object" && value !== null ? (value as Schema) : {};
}

function shortJson(value: unknown): string {
	const text = JSON.stringify(value) ?? "undefined";
	return text.length > DEFAULT_CHARACTERS
		? `${text.slice(0, DEFAULT_CHARACTERS - 1)}…`
		: text;
}
