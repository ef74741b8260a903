import { expect, test } from "vitest";
import { recordedNames } from "../../src/registry/incident-files.ts";
import { deadOwner, workerRow } from "../cleanup/crafted-run.ts";

const RUN = "abcdefg";
const rows = [
	workerRow(RUN, {
		incarnation: `${RUN}-4`,
		identity: deadOwner({ pid: 40, startTime: "400" }),
	}),
	workerRow(RUN, {
		incarnation: `${RUN}-1`,
		identity: deadOwner({ pid: 10, startTime: "500" }),
	}),
	workerRow(RUN, { incarnation: `${RUN}-2` }),
];
const parent = { pid: 40, startTime: "400" };
const worker = { pid: 10, startTime: "500" };
const child = { pid: 11, startTime: "510" };

test("a forked worker has its own name, and so has what is below it", () => {
	const naming = recordedNames(() => rows);
	expect(naming([worker, parent], `${RUN}-4`)).toBe(`${RUN}-1`);
	expect(naming([child, worker, parent], `${RUN}-4`)).toBe(`${RUN}-1`);
	expect(naming([worker], undefined)).toBe(`${RUN}-1`);
	expect(naming([parent], `${RUN}-4`)).toBe(`${RUN}-4`);
	expect(naming([child, parent], undefined)).toBe(`${RUN}-4`);
});

test("another process with the number of a worker is not that worker", () => {
	const naming = recordedNames(() => rows);
	const later = { ...worker, startTime: "600" };
	expect(naming([later], undefined)).toBeUndefined();
});

test("without a record, the written name is used only for a process that its writer forked itself", () => {
	const naming = recordedNames(() => []);
	expect(naming([parent], `${RUN}-4`)).toBe(`${RUN}-4`);
	expect(naming([worker, parent], `${RUN}-4`)).toBeUndefined();
	expect(naming([], `${RUN}-4`)).toBe(`${RUN}-4`);
});

test("the record is read when there is something to name, once", () => {
	let read = 0;
	const naming = recordedNames(() => {
		read++;
		return rows;
	});
	expect(read).toBe(0);
	naming([parent], undefined);
	naming([worker], undefined);
	expect(read).toBe(1);
});
