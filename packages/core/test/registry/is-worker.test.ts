import { expect, test } from "vitest";
import { isWorker } from "../../src/registry/workers.ts";

test("the preloaded parent and the companion of a pool are none of its workers, whatever its name is", () => {
	const of = (pool: string, workerId: string): boolean =>
		isWorker({ pool, workerId });
	expect(of("p", "p-0")).toBe(true);
	expect(of("p", "p-preload")).toBe(false);
	expect(of("p", "p-companion")).toBe(false);
	expect(of("p-preload", "p-preload-0")).toBe(true);
	expect(of("other", "p-preload")).toBe(true);
});
