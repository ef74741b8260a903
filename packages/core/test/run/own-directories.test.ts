import { mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { RunId } from "../../src/contract/identity.ts";
import {
	createRunDirectory,
	removePath,
} from "../../src/os/private-directory.ts";
import {
	type createSharedDirectory,
	sharedDirectoryOf,
} from "../../src/os/shared-memory.ts";
import { runNameOf } from "../../src/registry/run-name.ts";
import { OwnDirectories } from "../../src/run/own-directories.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { EventRecorder } from "../../src/testing.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

const name = runNameOf("own1234" as RunId, machine.self);

/** The directories of a run in a runtime directory of the test. */
function bench(createShared?: typeof createSharedDirectory) {
	const runtime = temporaryDirectory();
	vi.stubEnv("XDG_RUNTIME_DIR", runtime);
	vi.stubEnv("TMPDIR", runtime);
	onTestFinished(() => void vi.unstubAllEnvs());
	const directory = createRunDirectory(name.runId, name.ownerKey);
	onTestFinished(() => void removePath(sharedDirectoryOf(directory)));
	const events = new EventRecorder();
	const clock = new VirtualClock();
	const moved: string[] = [];
	const directories = new OwnDirectories({
		...{ name, directory, clock, emit: events.record },
		living: () => [],
		moved: (path) => moved.push(path),
		...(createShared === undefined ? {} : { createShared }),
	});
	return { runtime, directory, directories, events, clock, moved };
}

test("a run that began without shared memory never has any", () => {
	const { directories } = bench(() => undefined);
	expect(directories.shared).toBeUndefined();
	expect(directories.shared).toBeUndefined();
});

test("what is removed with a run: everything when its record goes, nothing that is in use, else what the record may not name", () => {
	const { runtime, directory, directories, moved } = bench();
	rmSync(directory, { recursive: true });
	// Something else has its name now, so it is made beside it.
	mkdirSync(directory, { mode: 0o755 });
	const later = directories.directory;
	expect(later).not.toBe(directory);
	expect(join(runtime, basename(later))).toBe(later);
	expect(moved).toEqual([later]);
	rmSync(directory, { recursive: true });
	mkdirSync(directory, { mode: 0o700 });
	expect(directories.removable(false, true)).toEqual([]);
	expect(directories.removable(false, false)).toEqual([later]);
	expect(directories.removable(true, false)).toEqual(
		expect.arrayContaining([later, directory]),
	);
});
