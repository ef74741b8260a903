import { expect, test } from "vitest";
import { Answers } from "../src/answers.ts";

test("an image that is answered twice does not make up for one that is not", () => {
	const answers = new Answers(3);
	answers.add(0, true);
	answers.add(0, true);
	answers.add(2, false);
	expect(answers.given).toBe(3);
	expect(answers.once).toBe(1);
	expect(answers.right).toBe(2);
});

test("an answer for an image that there is not is a mistake", () => {
	expect(() => new Answers(3).add(3, true)).toThrow(RangeError);
});
