import { expect, test } from "vitest";
import { RegistryError, StartError } from "../../src/errors.ts";
import { asStartError } from "../../src/worker/start-errors.ts";

test("a start error stays what it is", () => {
	const error = new StartError({
		code: "START_TIMEOUT",
		ran: "no",
		message: "not ready within 10 ms",
	});
	expect(asStartError(error)).toBe(error);
});

test("whatever else a start threw becomes one, with the thing itself as its cause", () => {
	const full = new RegistryError({
		code: "REGISTRY_FULL",
		ran: "no",
		message: "the disk is full",
	});
	for (const thrown of [
		full,
		new Error("the disk is full"),
		"the disk is full",
	]) {
		expect(asStartError(thrown)).toMatchObject({
			name: "StartError",
			code: "SPAWN_FAILED",
			ran: "no",
			message: "A worker could not be started: the disk is full",
			cause: thrown,
		});
	}
});
