import { expect, test } from "vitest";
import {
	freshDirectory,
	marked,
	SOON_MS,
	startHost,
	untilNothingIsLeft,
} from "./host-process.ts";

const program = new URL("./host.ts", import.meta.url);

test("hosts in one directory never touch each other's workers; the third cleans up after the dead one only", {
	timeout: 180_000,
}, async () => {
	const dataDir = freshDirectory();
	const [one, two] = [
		startHost(program, { dataDir, size: 2 }),
		startHost(program, { dataDir, size: 2 }),
	];
	const [runOne, runTwo] = (await Promise.all([
		one.reported("runId"),
		two.reported("runId"),
	])) as [string, string];
	await Promise.all([one.reported("ready"), two.reported("ready")]);
	expect(runOne).not.toBe(runTwo);
	const processesOfTwo = [...marked(runTwo)].sort();
	expect(processesOfTwo).toEqual(
		[...two.all("spawned"), ...two.all("preloaded")].sort(),
	);

	await one.kill();
	await untilNothingIsLeft(runOne, SOON_MS);
	const three = startHost(program, { dataDir, size: 1 });
	await three.reported("ready");
	expect([...marked(runTwo)].sort()).toEqual(processesOfTwo);
	expect(three.all("reaped")).toEqual([]);
});
