import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

describe("VirtualClock", () => {
	test("a promise chain set off by one timer has run before the next one fires", async () => {
		const clock = new VirtualClock();
		const seen: string[] = [];
		clock.after(1, async () => {
			for (let step = 0; step < 50; step++) await undefined;
			seen.push(`chain of the first at ${clock.now()}`);
		});
		clock.after(1, () => seen.push("second"));
		await clock.advance(1);
		expect(seen).toEqual(["chain of the first at 1", "second"]);
	});

	test("after a stall, what became due comes late", async () => {
		const clock = new VirtualClock({ wallMs: 0 });
		const at: number[] = [];
		clock.after(10, () => at.push(clock.now()));
		clock.stall(1000);
		expect(at).toEqual([]);
		await clock.settle();
		expect([at, clock.wall()]).toEqual([[1000], 1000]);
	});

	test("what is to come soon comes without any time, before the next timer, however long its chain", async () => {
		const clock = new VirtualClock();
		const seen: string[] = [];
		const chain = (left: number): void => {
			if (left > 0) clock.soon(() => chain(left - 1));
			else seen.push(`end of the chain at ${clock.now()}`);
		};
		clock.after(1, () => chain(50));
		clock.after(1, () => seen.push("second"));
		await clock.advance(1);
		expect(seen).toEqual(["end of the chain at 1", "second"]);
		await new Promise<void>((resolve) => clock.soon(resolve));
	});

	test("advanceUntil moves just far enough, and passes the outcome on", async () => {
		const clock = new VirtualClock();
		clock.after(1000, () => expect.unreachable());
		const result = new Promise((resolve) =>
			clock.after(30, () => resolve("done")),
		);
		expect(await clock.advanceUntil(result)).toBe("done");
		expect(clock.now()).toBe(30);
		await expect(
			clock.advanceUntil(Promise.reject(new Error("no"))),
		).rejects.toThrow("no");
	});

	test("advanceUntil says so when time alone does not settle the promise", async () => {
		const clock = new VirtualClock();
		clock.after(1000, () => expect.unreachable());
		await expect(
			clock.advanceUntil(new Promise(() => undefined), 500),
		).rejects.toThrow(
			"did not settle within 500 ms of virtual time; 1 later timers",
		);
	});

	test("advances that are not awaited follow one another", async () => {
		const clock = new VirtualClock();
		const at: number[] = [];
		clock.after(15, () => at.push(clock.now()));
		const first = clock.advance(10);
		const second = clock.advance(10);
		await first;
		expect(at).toEqual([]);
		await second;
		expect(at).toEqual([15]);
	});

	test("time that is no time is refused", () => {
		const clock = new VirtualClock();
		expect(() => clock.after(Number.NaN, () => undefined)).toThrow(RangeError);
		expect(() => clock.advance(-1)).toThrow(RangeError);
	});
});
