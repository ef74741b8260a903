import { spawn } from "node:child_process";
import { expect, test } from "vitest";

test("leaves a process that holds the output of its worker", () => {
	const sleeper = spawn("sleep", ["600"], {
		stdio: ["ignore", "inherit", "inherit"],
		detached: true,
	});
	sleeper.unref();
	expect(sleeper.pid).toBeGreaterThan(0);
});
