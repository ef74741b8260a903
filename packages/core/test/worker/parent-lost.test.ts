import { expect, test } from "vitest";
import { ForkLost } from "../../src/contract/errors.ts";
import {
	noteForkLost,
	noteParentLost,
} from "../../src/worker/companion-loss.ts";
import { EndCause } from "../../src/worker/end-cause.ts";

test.each([
	["preload", "the preloaded parent that had forked it was lost"],
	["guard", "the guard that had forked it was lost"],
] as const)(
	"a worker that ends with the %s that had forked it is not at fault",
	(source, verdict) => {
		const cause = new EndCause();
		noteParentLost({ cause }, { source, isParentLost: true });
		expect([cause.reason, cause.verdict]).toEqual(["parent_lost", verdict]);
	},
);

test("a worker whose parent lives, or that was to end, ends for its own reason", () => {
	const alone = new EndCause();
	for (const isParentLost of [false, undefined])
		noteParentLost({ cause: alone }, { source: "guard", isParentLost });
	expect(alone.reason).toBeUndefined();
	const asked = new EndCause();
	asked.presume("recycled");
	noteParentLost({ cause: asked }, { source: "guard", isParentLost: true });
	noteForkLost({ cause: asked }, new ForkLost("ls", "guard", new Error("x")));
	expect(asked.reason).toBe("recycled");
});

test("a worker that the guard did not fork any more is not at fault; any other failed fork is its own", () => {
	const lost = new EndCause();
	noteForkLost({ cause: lost }, new ForkLost("ls", "guard", new Error("gone")));
	expect([lost.reason, lost.verdict]).toEqual([
		"parent_lost",
		"the guard was lost before it had forked it",
	]);
	const failed = new EndCause();
	for (const error of [
		new ForkLost("ls", "preload", new Error("gone")),
		new Error("no such program"),
	])
		noteForkLost({ cause: failed }, error);
	expect(failed.reason).toBeUndefined();
});
