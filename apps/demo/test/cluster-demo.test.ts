import { expect, test } from "vitest";
import { namespaceUnavailable } from "../../../scripts/ray/namespace.ts";
import { isThorough } from "../../../scripts/test-effort.ts";
import { newState, runDemo } from "./demo-program.ts";

const missing = namespaceUnavailable();

test.runIf(isThorough() && missing === undefined)(
	"with --ray every image is read once on a cluster that loses a node, and nothing is left",
	{ timeout: 900_000 },
	async () => {
		const { code, output } = await runDemo(newState(), ["--ray"]);
		expect(output).toMatch(/killed everything on node 127\.0\.0\.4/);
		expect(output).toMatch(/^answered +1,797 of 1,797 images exactly once/m);
		expect(output).toMatch(/^left +0 processes/m);
		expect(code).toBe(0);
	},
);
