import fc from "fast-check";
import { expect, test } from "vitest";
import type { Call } from "../../src/pool/calls/call.ts";
import type { Session } from "../../src/pool/placement/session-table.ts";
import {
	boundTo,
	NOWHERE,
	WaitQueue,
} from "../../src/pool/placement/wait-queue.ts";

const WORKERS = ["r-1", "r-2", "r-3"] as const;
const worker = fc.constantFrom(...WORKERS);
const step = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			kind: fc.constant("add" as const),
			priority: fc.integer({ min: -2, max: 2 }),
			/** Of one of four strict sessions, or of none. */
			session: fc.option(fc.nat(3), { nil: undefined }),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({ kind: fc.constant("takeFor" as const), worker }),
	},
	{
		weight: 1,
		arbitrary: fc.record({ kind: fc.constant("takeBound" as const), worker }),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			kind: fc.constant("remove" as const),
			at: fc.nat(),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			kind: fc.constant("bind" as const),
			session: fc.nat(3),
			worker,
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({ kind: fc.constant("evict" as const), worker }),
	},
);

/** What the queue looks at of a call, and of its session. */
function waitingCall(
	sequence: number,
	priority: number,
	session: { incarnation: string | undefined } | undefined,
): Call {
	const strict = session && Object.assign(session, { affinity: "strict" });
	return {
		sequence,
		priority,
		place: NOWHERE,
		session: strict as Session | undefined,
	} as Call;
}

const first = (calls: readonly Call[]): Call | undefined =>
	[...calls].sort(
		(a, b) => b.priority - a.priority || a.sequence - b.sequence,
	)[0];

test("each worker gets the first of the calls that it may run, whenever their sessions were bound", () => {
	fc.assert(
		fc.property(
			fc.array(step, { minLength: 80, maxLength: 160, size: "max" }),
			(steps) => {
				const room = new WaitQueue();
				const sessions = Array.from({ length: 4 }, () => ({
					incarnation: undefined as string | undefined,
				}));
				let model: Call[] = [];
				let sequence = 0;
				const without = (gone: Call | undefined): void => {
					model = model.filter((call) => call !== gone);
				};
				for (const step of steps) {
					switch (step.kind) {
						case "add": {
							const session =
								step.session === undefined ? undefined : sessions[step.session];
							const call = waitingCall(sequence++, step.priority, session);
							room.add(call);
							model.push(call);
							break;
						}
						case "takeFor": {
							const expected = first(
								model.filter((call) =>
									[undefined, step.worker].includes(
										boundTo(call) as typeof step.worker | undefined,
									),
								),
							);
							expect(room.takeFor(step.worker)).toBe(expected);
							without(expected);
							break;
						}
						case "takeBound": {
							const expected = first(
								model.filter((call) => boundTo(call) === step.worker),
							);
							expect(room.takeBound(step.worker)).toBe(expected);
							without(expected);
							break;
						}
						case "remove": {
							const call = model[step.at % Math.max(1, model.length)];
							if (call === undefined) break;
							room.remove(call);
							without(call);
							break;
						}
						case "bind": {
							// A session is bound once.
							const session = sessions[step.session];
							if (session) session.incarnation ??= step.worker;
							break;
						}
						case "evict": {
							const bound = model.filter(
								(call) => boundTo(call) === step.worker,
							);
							expect(new Set(room.evict(step.worker))).toEqual(new Set(bound));
							for (const call of bound) without(call);
						}
					}
					expect(room.size).toBe(model.length);
				}
				expect(new Set(room.all())).toEqual(new Set(model));
			},
		),
		{ seed: 20_261_123, numRuns: 100 },
	);
});
