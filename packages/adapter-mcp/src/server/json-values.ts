/** Results and arguments of tools have more types than JSON has: the schema says where. */

/** Converts a result to JSON: bytes become base64; a large integer, or a number that JSON cannot express, becomes text. */
export function toJson(value: unknown): unknown {
	if (typeof value === "bigint")
		return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
	if (typeof value === "number")
		return Number.isFinite(value) ? value : String(value);
	if (typeof value !== "object" || value === null) return value;
	if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
	if (ArrayBuffer.isView(value))
		return Array.from(value as unknown as Iterable<unknown>, toJson);
	if (Symbol.iterator in value && !(value instanceof Map))
		return Array.from(value as Iterable<unknown>, toJson);
	if ("toJSON" in value && typeof value.toJSON === "function")
		return value.toJSON();
	const entries =
		value instanceof Map ? [...value.entries()] : Object.entries(value);
	if (entries.every(([key]) => typeof key !== "object"))
		return Object.fromEntries(
			entries.map(([key, each]) => [String(key), toJson(each)]),
		);
	return entries.map(([key, each]) => [toJson(key), toJson(each)]);
}

/** The text of a result. */
export function asText(value: unknown): string {
	if (typeof value === "string") return value;
	return JSON.stringify(toJson(value)) ?? "null";
}

interface Schema {
	readonly $ref?: string;
	readonly $defs?: Readonly<Record<string, Schema>>;
	readonly type?: unknown;
	readonly contentEncoding?: string;
	readonly anyOf?: readonly Schema[];
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly additionalProperties?: Schema | boolean;
	readonly items?: Schema | boolean;
	readonly uniqueItems?: boolean;
	readonly prefixItems?: readonly Schema[];
}

/** Converts arguments for the tool: a text becomes bytes, and a list a `Set`, where the schema permits nothing else. */
export function fromJson(
	value: unknown,
	schema: unknown,
	root: unknown = schema,
): unknown {
	const variants = variantsOf(schema, root as Schema);
	if (typeof value === "string") {
		const texts = variants.filter(
			({ type, contentEncoding }) =>
				type === "string" || contentEncoding !== undefined,
		);
		const [only] = texts;
		return texts.length === 1 && only?.contentEncoding === "base64"
			? Buffer.from(value, "base64")
			: value;
	}
	if (typeof value !== "object" || value === null) return value;
	const inside = (part: unknown, key: string): unknown => {
		const schemas = variants.flatMap((variant) =>
			partOf(variant, key, Array.isArray(value)),
		);
		return schemas.length === 0
			? part
			: fromJson(part, { anyOf: schemas }, root);
	};
	if (Array.isArray(value)) {
		const items = value.map((part, index) => inside(part, String(index)));
		const lists = variants.filter(({ type }) => type === "array");
		const isSet =
			lists.length > 0 && lists.every(({ uniqueItems }) => uniqueItems);
		return isSet ? new Set(items) : items;
	}
	return Object.fromEntries(
		Object.entries(value).map(([key, part]) => [key, inside(part, key)]),
	);
}

function partOf(schema: Schema, key: string, isItem: boolean): Schema[] {
	const { additionalProperties, items, prefixItems, properties } = schema;
	const part = isItem
		? (prefixItems?.[Number(key)] ?? items)
		: Object.hasOwn(properties ?? {}, key)
			? properties?.[key]
			: additionalProperties;
	return typeof part === "object" ? [part] : [];
}

function variantsOf(schema: unknown, root: Schema): readonly Schema[] {
	if (typeof schema !== "object" || schema === null) return [];
	const { $ref, anyOf } = schema as Schema;
	if ($ref !== undefined) {
		const name = $ref.replace(/^#\/\$defs\//, "");
		const defined = root.$defs ?? {};
		return Object.hasOwn(defined, name) ? variantsOf(defined[name], root) : [];
	}
	return anyOf === undefined
		? [schema]
		: anyOf.flatMap((variant) => variantsOf(variant, root));
}
