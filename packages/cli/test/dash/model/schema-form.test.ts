import { expect, test } from "vitest";
import {
	formArgs,
	formFields,
	toolKind,
} from "../../../web/model/schema-form.ts";

const SCHEMA = {
	type: "object",
	required: ["image", "tags", "name"],
	properties: {
		image: { type: "integer", description: "Its number." },
		share: { type: "number", default: 0.5 },
		name: { type: "string" },
		note: { type: "string" },
		exact: { type: "boolean" },
		model: { enum: ["small", 2, null], default: "small" },
		tags: { type: "array", items: { type: "string" } },
		union: { anyOf: [{ type: "string" }, { type: "null" }] },
	},
};
const fields = formFields(SCHEMA);

test("each property is an input that fits, in the order of the schema", () => {
	expect(fields.map(({ name, input: { kind } }) => [name, kind])).toEqual([
		["image", "number"],
		["share", "number"],
		["name", "text"],
		["note", "text"],
		["exact", "truth"],
		["model", "choice"],
		["tags", "json"],
		["union", "json"],
	]);
	expect(fields[0]).toMatchObject({
		required: true,
		description: "Its number.",
	});
	expect(fields[1]).toMatchObject({ required: false, initial: "0.5" });
	expect(fields[5]?.initial).toBe('"small"');
});

test("a filled form is the arguments; what is empty and not required is left out", () => {
	const values = {
		image: "3",
		tags: '["a"]',
		name: "",
		exact: "true",
		union: "null",
	};
	expect(formArgs(fields, values)).toEqual({
		kind: "args",
		args: {
			...{ image: 3, share: 0.5, name: "", exact: true },
			...{ model: "small", tags: ["a"], union: null },
		},
	});
});

test("every field that is wrong is named", () => {
	const values = { image: "1.5", share: "much", tags: "a" };
	expect(formArgs(fields, values)).toEqual({
		kind: "wrong",
		wrong: {
			image: "must be a whole number",
			share: "must be a number",
			tags: "must be JSON: texts are in quotes",
		},
	});
	const large = { image: "9007199254740993", tags: "" };
	expect(formArgs(fields, large)).toEqual({
		kind: "wrong",
		wrong: {
			image: "is larger than JSON carries exactly",
			tags: "is required",
		},
	});
});

test.each([undefined, null, {}, { properties: 3 }, "text", true])(
	"the schema %j has no fields",
	(schema) => {
		expect(formFields(schema)).toEqual([]);
	},
);

test("a tool says how it answers, unless each call has one answer", () => {
	expect(toolKind({})).toBeUndefined();
	expect(toolKind({ shape: "unary" })).toBeUndefined();
	expect(toolKind({ shape: "stream" })).toContain("stream");
	expect(toolKind({ shape: "unary", batchMax: 16 })).toContain("at most 16");
});
