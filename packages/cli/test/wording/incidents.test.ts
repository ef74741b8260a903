import { expect, test } from "vitest";
import { incidentOf } from "../../src/wording/incidents.ts";

test.each([
	["Worker a-0 could not start: no model", "a-0 could not start: no model"],
	["no interpreter", "a-0 could not be started: no interpreter"],
])("a start that failed with %j names the worker once", (message, text) => {
	const event = {
		...{ type: "worker.start_failed", wallMs: 1, workerId: "a-0" },
		error: { message },
	} as unknown as Parameters<typeof incidentOf>[0];
	expect(incidentOf(event, 1)).toMatchObject({ text, tone: "bad" });
});
