import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Call } from "../../src/pool/calls/call.ts";
import type { Session } from "../../src/pool/placement/session-table.ts";
import {
	boundTo,
	NOWHERE,
	PriorityQueue,
	type Waiting,
	WaitQueue,
} from "../../src/pool/placement/wait-queue.ts";

/** The order that is promised, said here once more: that of the queue itself cannot judge it. */
const inOrder = (items: readonly Waiting[]): readonly Waiting[] =>
	[...items].sort((a, b) => b.priority - a.priority || a.sequence - b.sequence);

/** Takes everything, and compares it with the order that it should have. */
function expectOrder(
	queue: PriorityQueue<Waiting>,
	items: readonly Waiting[],
): void {
	// One comparison for each queue: there are tens of thousands of them.
	for (const [index, item] of inOrder(items).entries()) {
		const taken = queue.take();
		if (taken !== item)
			expect({ index, taken, of: items }).toEqual({
				index,
				taken: item,
				of: items,
			});
	}
	if (queue.size !== 0) expect(queue.size).toBe(0);
}

/** Seven fill three levels of the heap: what leaves from the middle can move up, and down. */
const MOST = 7;

/** Every order in which the numbers below `size` can come. */
function* orders(size: number): Generator<readonly number[]> {
	if (size === 0) {
		yield [];
		return;
	}
	for (const shorter of orders(size - 1))
		for (let at = 0; at < size; at++)
			yield [...shorter.slice(0, at), size - 1, ...shorter.slice(at)];
}

function filled(priorities: readonly number[]): {
	readonly queue: PriorityQueue<Waiting>;
	readonly items: readonly Waiting[];
} {
	const queue = new PriorityQueue<Waiting>();
	const items = priorities.map((priority, sequence) => ({
		priority,
		sequence,
		place: NOWHERE,
	}));
	for (const item of items) queue.add(item);
	return { queue, items };
}

describe("things leave by priority", () => {
	test(`in every order that up to ${MOST} of them can come in`, () => {
		let tried = 0;
		for (let size = 1; size <= MOST; size++)
			for (const priorities of orders(size)) {
				const { queue, items } = filled(priorities);
				expectOrder(queue, items);
				tried++;
			}
		expect(tried).toBe(1 + 2 + 6 + 24 + 120 + 720 + 5040);
	});

	test(`whichever of ${MOST} is removed before, wherever it is in the heap`, () => {
		let tried = 0;
		for (const priorities of orders(MOST))
			for (let index = 0; index < MOST; index++) {
				const { queue, items } = filled(priorities);
				const gone = items[index] as Waiting;
				if (!queue.remove(gone)) expect.unreachable();
				expectOrder(
					queue,
					items.filter((item) => item !== gone),
				);
				tried++;
			}
		expect(tried).toBe(7 * 5040);
	});

	test("those of one priority in the order they came, among others", () => {
		for (const size of [2, 3, 10, 100, 1_000]) {
			const { queue, items } = filled(
				Array.from({ length: size }, (_, index) => (index * 7) % 3),
			);
			expectOrder(queue, items);
		}
	});

	test("after any mixture of adding, taking and removing", () => {
		const step = fc.oneof(
			{
				weight: 3,
				arbitrary: fc.record({ add: fc.integer({ min: -3, max: 3 }) }),
			},
			{ weight: 1, arbitrary: fc.record({ remove: fc.nat() }) },
			{ weight: 1, arbitrary: fc.constant("take" as const) },
		);
		fc.assert(
			// Long enough that the heap is five levels deep and more, in each run.
			fc.property(
				fc.array(step, { minLength: 100, maxLength: 200, size: "max" }),
				(steps) => {
					const queue = new PriorityQueue<Waiting>();
					let model: Waiting[] = [];
					let sequence = 0;
					for (const step of steps) {
						if (step === "take") {
							const first = inOrder(model)[0];
							expect(queue.take()).toBe(first);
							model = model.filter((item) => item !== first);
						} else if ("add" in step) {
							const item = {
								priority: step.add,
								sequence: sequence++,
								place: NOWHERE,
							};
							queue.add(item);
							model.push(item);
						} else {
							const item = model[step.remove % Math.max(1, model.length)];
							if (item === undefined) continue;
							expect(queue.remove(item)).toBe(true);
							expect(queue.remove(item)).toBe(false);
							model = model.filter((each) => each !== item);
						}
					}
					expect(new Set(queue)).toEqual(new Set(model));
					expectOrder(queue, model);
				},
			),
			{ seed: 20_261_122, numRuns: 50 },
		);
	});
});

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
