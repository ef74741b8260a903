import { expect, test } from "vitest";
import { toolKind } from "../../../web/model/schema-form.ts";

test("a tool says how it answers, unless each call has one answer", () => {
	expect(toolKind({})).toBeUndefined();
	expect(toolKind({ shape: "unary" })).toBeUndefined();
	expect(toolKind({ shape: "stream" })).toContain("stream");
	expect(toolKind({ shape: "unary", batchMax: 16 })).toContain("at most 16");
});
