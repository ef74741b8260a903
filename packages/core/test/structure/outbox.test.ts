import { join } from "node:path";
import { expect, test } from "vitest";
import type { Clock } from "../../src/contract/clock.ts";
import { systemClock } from "../../src/os/system-clock.ts";
import { outbox } from "../../src/outbox.ts";
import { EventHub } from "../../src/pool/observe/event-hub.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { codeOf, sourceFiles } from "./source-imports.ts";

const SRC = join(import.meta.dirname, "../../src");
const files = sourceFiles(SRC);

/** The files whose code has a pattern. */
function having(pattern: RegExp): readonly string[] {
	return files.filter((file) => pattern.test(codeOf(SRC, file)));
}

// The rule: state first, then the event. A listener may do anything, so it is called when the change is complete.
test("listeners are called in one place, which the outbox alone calls", () => {
	expect(having(/\blistener\(event\)/)).toEqual(["pool/observe/event-hub.ts"]);
	const hub = codeOf(SRC, "pool/observe/event-hub.ts");
	expect(hub.match(/\blistener\(event\)/g)).toHaveLength(1);
	expect(hub).toContain("outbox.post(this.receive, event)");
	// Besides events, only what is reported by one waits behind it.
	expect(having(/\boutbox\.post\(/)).toEqual([
		"pool/calls/calls.ts",
		"pool/observe/event-hub.ts",
	]);
});

test("what a hub has received is passed on to another one only where a run passes its events to its pools", () => {
	expect(having(/\bhub\.receive\b/i)).toEqual([
		"run/join-run.ts",
		"run/opened-run.ts",
	]);
	expect(having(/subscribe\([\w.#]*hub\.emit\b/i)).toEqual([]);
});

test("a transition ends in the turn in which it begins, also when it throws", () => {
	expect(having(/\bduring\(\s*async\b/)).toEqual([]);
	const entering = having(/\boutbox\.enter\(\)/);
	expect(entering).not.toEqual([]);
	for (const file of entering) {
		const code = codeOf(SRC, file);
		const enters = code.match(/\boutbox\.enter\(\);\s*try \{/g) ?? [];
		const leaves = code.match(/finally \{\s*outbox\.leave\(\);\s*\}/g) ?? [];
		expect([file, enters.length, leaves.length]).toEqual([
			file,
			...[/\boutbox\.enter\(/g, /\boutbox\.leave\(/g].map(
				(each) => code.match(each)?.length,
			),
		]);
	}
});

const CLOCKS: readonly {
	readonly name: string;
	readonly make: () => { readonly clock: Clock; readonly pass: () => unknown };
}[] = [
	{
		name: "this machine",
		make: () => ({ clock: systemClock, pass: () => {} }),
	},
	{
		name: "a test",
		make: () => {
			const clock = new VirtualClock();
			return { clock, pass: () => clock.advance(10) };
		},
	},
];

test.each(CLOCKS)(
	"whatever a timer of $name sets off is one transition",
	async ({ make }) => {
		const { clock, pass } = make();
		for (const by of ["after", "soon"] as const) {
			const hub = new EventHub();
			const order: string[] = [];
			const fired = Promise.withResolvers<void>();
			hub.subscribe(() => {
				order.push("event");
				fired.resolve();
			});
			const action = (): void => {
				hub.emit({
					...{ type: "session.started", wallMs: 1 },
					...{ pool: "p", sessionId: "s" },
				});
				order.push("complete");
			};
			if (by === "after") clock.after(1, action);
			else clock.soon(action);
			void pass();
			// Timers of the machine hold nothing open.
			const hold = setInterval(() => {}, 1_000);
			await fired.promise;
			clearInterval(hold);
			expect(order).toEqual(["complete", "event"]);
		}
		expect(outbox.size).toBe(0);
	},
);
