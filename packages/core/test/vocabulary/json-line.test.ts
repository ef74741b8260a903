import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { jsonLine } from "../../src/contract/text.ts";

test("whatever a reader takes for the end of a line, a value is one line and stays what it is", async () => {
	const text = Array.from({ length: 0x2100 }, (_, code) =>
		String.fromCharCode(code),
	).join("");
	const line = jsonLine({ [text]: text });
	// As Python's str.splitlines has them; readline has fewer.
	for (const end of "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029")
		expect(line).not.toContain(end);
	const read = await Array.fromAsync(
		createInterface({ input: Readable.from([`${line}\n`]) }),
	);
	expect(read.map((each) => JSON.parse(each))).toEqual([{ [text]: text }]);
});

test.each([undefined, () => {}, { toJSON: () => undefined }])(
	"what JSON does not have is a TypeError: %s",
	(value) => {
		expect(() => jsonLine(value)).toThrow(TypeError);
	},
);
