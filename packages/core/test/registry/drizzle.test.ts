import { expect, test } from "vitest";
import * as bundled from "../../src/registry/bundled-drizzle.ts";
import * as loaded from "../../src/registry/drizzle.ts";

test("a bundler finds of Drizzle exactly what Node finds", () => {
	const kinds = (from: object) =>
		Object.entries(from).map(([name, value]) => [name, typeof value]);
	expect(kinds(bundled).sort()).toEqual(kinds(loaded).sort());
});
