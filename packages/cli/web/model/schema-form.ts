import type { ToolSnapshot } from "@snakepit/control";

/** One input of a form that is made from the JSON schema of a tool's arguments. */
export interface FormField {
	readonly name: string;
	readonly label: string;
	readonly description: string | undefined;
	readonly required: boolean;
	readonly input:
		| { readonly kind: "text" }
		| { readonly kind: "number"; readonly whole: boolean }
		| { readonly kind: "truth" }
		| { readonly kind: "choice"; readonly choices: readonly unknown[] }
		/** Anything else is written as JSON. */
		| { readonly kind: "json" };
	/** The initial value of the input. */
	readonly initial: string;
}

type Schema = Readonly<Record<string, unknown>>;

/** The fields for the arguments of a tool, in the order of the schema. */
export function formFields(schema: unknown): readonly FormField[] {
	const { properties, required } = asSchema(schema);
	const names = Array.isArray(required) ? required : [];
	return Object.entries(asSchema(properties)).map(([name, property]) => {
		const { description, title, default: initial } = asSchema(property);
		const input = inputOf(asSchema(property));
		return {
			name,
			label: typeof title === "string" ? title : name,
			description: typeof description === "string" ? description : undefined,
			required: names.includes(name),
			input,
			initial: initial === undefined ? "" : written(initial, input.kind),
		};
	});
}

function inputOf(schema: Schema): FormField["input"] {
	if (Array.isArray(schema["enum"]))
		return { kind: "choice", choices: schema["enum"] };
	switch (schema["type"]) {
		case "string":
			return { kind: "text" };
		case "integer":
			return { kind: "number", whole: true };
		case "number":
			return { kind: "number", whole: false };
		case "boolean":
			return { kind: "truth" };
		default:
			return { kind: "json" };
	}
}

function asSchema(value: unknown): Schema {
	return typeof value === "object" && value !== null ? (value as Schema) : {};
}

function written(value: unknown, kind: FormField["input"]["kind"]): string {
	return kind === "json" || kind === "choice" || typeof value === "object"
		? JSON.stringify(value)
		: String(value);
}

type FormResult =
	| { readonly kind: "args"; readonly args: Readonly<Record<string, unknown>> }
	/** What is wrong, by field. */
	| {
			readonly kind: "wrong";
			readonly wrong: Readonly<Record<string, string>>;
	  };

/** The arguments from a filled form. A field that is empty and not required is left out. */
export function formArgs(
	fields: readonly FormField[],
	values: Readonly<Record<string, string>>,
): FormResult {
	const wrong: Record<string, string> = {};
	const args: Record<string, unknown> = {};
	for (const field of fields) {
		const text = values[field.name] ?? field.initial;
		if (text === "" && field.input.kind !== "text") {
			if (field.required) wrong[field.name] = "is required";
			continue;
		}
		if (text === "" && !field.required) continue;
		const value = parsed(field, text);
		if ("problem" in value) wrong[field.name] = value.problem;
		else args[field.name] = value.value;
	}
	return Object.keys(wrong).length > 0
		? { kind: "wrong", wrong }
		: { kind: "args", args };
}

function parsed(
	{ input }: FormField,
	text: string,
): { readonly value: unknown } | { readonly problem: string } {
	switch (input.kind) {
		case "text":
			return { value: text };
		case "number": {
			const value = Number(text);
			if (!Number.isFinite(value)) return { problem: "must be a number" };
			if (input.whole && !Number.isInteger(value))
				return { problem: "must be a whole number" };
			if (input.whole && !Number.isSafeInteger(value))
				return { problem: "is larger than JSON carries exactly" };
			return { value };
		}
		case "truth":
			return { value: text === "true" };
		default:
			try {
				return { value: JSON.parse(text) };
			} catch {
				return { problem: "must be JSON: texts are in quotes" };
			}
	}
}

/** How a tool answers, if it does not give one answer to each call. */
export function toolKind({
	shape,
	batchMax,
}: Pick<ToolSnapshot, "shape" | "batchMax">): string | undefined {
	if (typeof batchMax === "number")
		return `Calls that wait together run as one batch of at most ${batchMax}.`;
	return shape === "stream"
		? "It answers with a stream; its first 1,000 items are shown."
		: undefined;
}
