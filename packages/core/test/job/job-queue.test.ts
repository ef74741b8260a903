import { expect, test } from "vitest";
import { JobQueue } from "../../src/job/jobs.ts";

/** Who has had its turn, in order. */
function observed(queue: JobQueue) {
	const turns: string[] = [];
	return {
		turns,
		enter: (name: string) => {
			const place = queue.enter();
			void place.turn.then(() => turns.push(name));
			return place;
		},
	};
}
const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

test("as many jobs as the limit have their turn at once, the others in the order in which they came", async () => {
	const queue = new JobQueue({ concurrency: 2, queueLimit: 10 });
	const { turns, enter } = observed(queue);
	const places = ["a", "b", "c", "d"].map(enter);
	await settle();
	expect(turns).toEqual(["a", "b"]);
	expect([queue.running, queue.waiting]).toEqual([2, 2]);
	places[1]?.leave();
	places[0]?.leave();
	await settle();
	expect(turns).toEqual(["a", "b", "c", "d"]);
	expect([queue.running, queue.waiting]).toEqual([2, 0]);
});

test("a place that is left twice makes room once", async () => {
	const queue = new JobQueue({ concurrency: 1, queueLimit: 10 });
	const { turns, enter } = observed(queue);
	const first = enter("a");
	enter("b");
	enter("c");
	first.leave();
	first.leave();
	await settle();
	expect(turns).toEqual(["a", "b"]);
	expect([queue.running, queue.waiting]).toEqual([1, 1]);
});

test("who leaves before its turn gives its place to nobody", async () => {
	const queue = new JobQueue({ concurrency: 1, queueLimit: 10 });
	const { turns, enter } = observed(queue);
	const first = enter("a");
	const second = enter("b");
	enter("c");
	second.leave();
	await settle();
	expect(turns).toEqual(["a"]);
	first.leave();
	await settle();
	expect(turns).toEqual(["a", "c"]);
	expect([queue.running, queue.waiting]).toEqual([1, 0]);
});

test("the last one leaves room for the next", async () => {
	const queue = new JobQueue({ concurrency: 1, queueLimit: 0 });
	const { turns, enter } = observed(queue);
	enter("a").leave();
	enter("b");
	await settle();
	expect(turns).toEqual(["a", "b"]);
});

test("one more than may wait is refused, with both limits", () => {
	const queue = new JobQueue({ concurrency: 1, queueLimit: 1 });
	queue.enter();
	queue.enter();
	expect(() => queue.enter()).toThrow(
		expect.objectContaining({
			code: "JOB_QUEUE_FULL",
			ran: "no",
			message:
				"1 jobs are running and 1 are waiting, which is the limit. Start fewer at once, or raise jobs.queueLimit (1) or jobs.concurrency (1) of the run.",
		}),
	);
	expect([queue.running, queue.waiting]).toEqual([1, 1]);
});
