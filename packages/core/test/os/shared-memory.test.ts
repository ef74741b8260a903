import {
	chmodSync,
	existsSync,
	lstatSync,
	mkdirSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { RunId } from "../../src/contract/identity.ts";
import { createRunDirectory } from "../../src/os/private-directory.ts";
import {
	createSharedDirectory,
	directoriesOf,
	removeNamedMemory,
	sharedDirectoryOf,
} from "../../src/os/shared-memory.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const runId = "abc1234" as RunId;

function runDirectory(): string {
	const path = createRunDirectory(runId, "0123456789abcdef");
	onTestFinished(() => {
		for (const each of [path, sharedDirectoryOf(path)])
			rmSync(each, { recursive: true, force: true });
	});
	return path;
}

test.skipIf(!existsSync("/dev/shm"))(
	"a run has a directory of its own in shared memory, that no other user can enter, and that is named like its private one",
	() => {
		const directory = runDirectory();
		const shared = createSharedDirectory(directory);
		expect(shared).toBe(join("/dev/shm", basename(directory)));
		expect(statSync(shared as string).mode & 0o777).toBe(0o700);
		expect(directoriesOf(directory, runId)).toEqual([directory, shared]);
	},
);

test.skipIf(!existsSync("/dev/shm"))(
	"where the name is taken already there is none, and what others can enter is not taken for ours",
	() => {
		const directory = runDirectory();
		mkdirSync(sharedDirectoryOf(directory), { mode: 0o755 });
		expect(createSharedDirectory(directory)).toBeUndefined();
		expect(directoriesOf(directory, runId)).toEqual([directory]);
		expect(directoriesOf(directory, "abc1235" as RunId)).toEqual([]);
	},
);

/** A file in shared memory, removed after the test. */
function named(suffix: string): {
	readonly name: string;
	readonly path: string;
} {
	const name = `snakepit-test-${process.pid}-${suffix}`;
	const path = join("/dev/shm", name);
	writeFileSync(path, suffix, { flag: "wx" });
	onTestFinished(() => rmSync(path, { force: true }));
	return { name, path };
}

function line(
	sign: "+" | "-",
	{ name, path }: ReturnType<typeof named>,
): string {
	const { dev, ino } = lstatSync(path, { bigint: true });
	return `${sign} ${name} ${dev} ${ino}`;
}

test.skipIf(!existsSync("/dev/shm"))(
	"what a dead worker named in shared memory is removed if it is the very file that it created, and not taken out of its record",
	() => {
		const worker = join(temporaryDirectory(), "7");
		mkdirSync(worker);
		const [left, removed, byChild, again, strangers] = [
			...["left", "removed", "by-child", "again", "strangers"],
		].map(named) as [
			...[ReturnType<typeof named>, ReturnType<typeof named>],
			...[ReturnType<typeof named>, ReturnType<typeof named>],
			ReturnType<typeof named>,
		];
		const before = line("+", again);
		rmSync(again.path);
		// The number of the file that is gone must stay taken.
		named("between");
		writeFileSync(again.path, "another program's");
		const outside = join(worker, "outside");
		writeFileSync(outside, "");
		const link = join("/dev/shm", `${left.name}-link`);
		symlinkSync(strangers.path, link);
		onTestFinished(() => rmSync(link));
		const { dev, ino } = lstatSync(strangers.path, { bigint: true });
		writeFileSync(
			join(worker, "names-12"),
			[
				line("+", left),
				line("+", removed),
				line("+", byChild),
				before,
				line("-", removed),
				`+ ../..${outside} ${lstatSync(outside).dev} ${lstatSync(outside).ino}`,
				`+ ${basename(link)} ${dev} ${ino}`,
				`+ ${strangers.name} ${dev} ${ino + 1n}`,
				`+ ${strangers.name} * *`,
				"garbage",
				line("+", strangers).slice(0, -String(ino).length),
			].join("\n"),
		);
		writeFileSync(join(worker, "names-13"), `- ${byChild.name} * *\n`);
		writeFileSync(join(worker, "other"), line("+", strangers));
		mkdirSync(join(worker, "names-14"));
		symlinkSync(join(worker, "other"), join(worker, "names-15"));
		removeNamedMemory(worker);
		const there = [left, removed, byChild, again, strangers];
		expect(there.map(({ path }) => existsSync(path))).toEqual([
			...[false, true, true, true, true],
		]);
		expect(existsSync(outside)).toBe(true);
		expect(lstatSync(link).isSymbolicLink()).toBe(true);
		// Of a whole run.
		writeFileSync(join(worker, "names-12"), line("+", removed));
		removeNamedMemory(join(worker, ".."));
		expect(existsSync(removed.path)).toBe(false);
		removeNamedMemory(outside);
		removeNamedMemory(join(worker, "nowhere"));
	},
);

test.skipIf(!existsSync("/dev/shm"))(
	"a directory that a dead worker named goes with the files in it, if others cannot have put them there",
	() => {
		const worker = temporaryDirectory();
		const [private_, open] = [0o700, 0o777].map((mode) => {
			const name = `snakepit-test-${process.pid}-${mode}`;
			const path = join("/dev/shm", name);
			mkdirSync(path);
			chmodSync(path, mode);
			onTestFinished(() => rmSync(path, { recursive: true, force: true }));
			writeFileSync(join(path, "array.pkl"), "");
			return { name, path };
		}) as [ReturnType<typeof named>, ReturnType<typeof named>];
		writeFileSync(
			join(worker, "names-12"),
			[line("+", private_), line("+", open)].join("\n"),
		);
		removeNamedMemory(worker);
		expect([existsSync(private_.path), existsSync(open.path)]).toEqual([
			false,
			true,
		]);
	},
);
