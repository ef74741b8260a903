import { describe, expect, test } from "vitest";

describe("numbers", () => {
	test("are equal", () => expect(1).toBe(2));
	test("are numbers", () => expect(1).toBe(1));
});
