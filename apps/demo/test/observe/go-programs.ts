import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { crc32 } from "node:zlib";
import { onTestFinished } from "vitest";

/** A directory that goes with the test. */
export function newDirectory(): string {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-go-"));
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	return directory;
}

/** Returns an environment in which `go` is a shell script. */
export function fakeGo(script: string): NodeJS.ProcessEnv {
	const directory = newDirectory();
	writeFileSync(join(directory, "go"), `#!/bin/sh\n${script}\n`, {
		mode: 0o755,
	});
	return {
		...process.env,
		PATH: [directory, process.env["PATH"]].join(delimiter),
	};
}

/** Whether the real Go is here; where not, tests that need it say so and are skipped. */
export function hasGo(): boolean {
	const { status } = spawnSync("go", ["version"], { stdio: "ignore" });
	if (status !== 0) console.warn("Skipped: there is no go on PATH");
	return status === 0;
}

export interface PinnedProgram {
	/** The registry of the real Go is a directory that has this program alone. */
	readonly environ: NodeJS.ProcessEnv;
	/** A directory with its go.mod and go.sum. */
	readonly pinnedBy: string;
}

/** Makes a program of this text, `example.test/program` v1.0.0. */
export function goWithRegistryOf(main: string, goMod: string): PinnedProgram {
	const registry = newDirectory();
	const versions = join(registry, "example.test/program/@v");
	mkdirSync(versions, { recursive: true });
	const mod = `module example.test/program\n\n${goMod}\n`;
	const root = "example.test/program@v1.0.0";
	writeFileSync(join(versions, "v1.0.0.info"), '{"Version":"v1.0.0"}');
	writeFileSync(join(versions, "v1.0.0.mod"), mod);
	const files = { [`${root}/go.mod`]: mod, [`${root}/main.go`]: main };
	writeFileSync(join(versions, "v1.0.0.zip"), zipOf(files));
	const pinnedBy = newDirectory();
	writeFileSync(
		join(pinnedBy, "go.mod"),
		`module example.test/pin\n\n${goMod}\n\nrequire example.test/program v1.0.0\n`,
	);
	writeFileSync(
		join(pinnedBy, "go.sum"),
		[
			`example.test/program v1.0.0 ${sumOf(files)}\n`,
			`example.test/program v1.0.0/go.mod ${sumOf({ "go.mod": mod })}\n`,
		].join(""),
	);
	const environ = {
		...process.env,
		GOPROXY: `file://${registry}`,
		GOSUMDB: "off",
		GOTOOLCHAIN: "local",
		GOMODCACHE: join(registry, "modules"),
		// Else they are read-only, and cannot be removed.
		GOFLAGS: "-modcacherw",
	};
	return { environ, pinnedBy };
}

/** A line of go.sum. Source: golang.org/x/mod/sumdb/dirhash, Hash1. */
function sumOf(files: Readonly<Record<string, string>>): string {
	const sha256 = () => createHash("sha256");
	const lines = Object.entries(files)
		.sort(([a], [b]) => (a < b ? -1 : 1))
		.map(([path, text]) => `${sha256().update(text).digest("hex")}  ${path}\n`);
	return `h1:${sha256().update(lines.join("")).digest("base64")}`;
}

/** An archive as Go's registries have them, nothing compressed. */
function zipOf(files: Readonly<Record<string, string>>): Buffer {
	const bodies: Buffer[] = [];
	const entries: Buffer[] = [];
	let offset = 0;
	for (const [path, text] of Object.entries(files)) {
		const name = Buffer.from(path);
		const data = Buffer.from(text);
		// Version, flags, method, time, date; what follows is in both headers.
		const common = Buffer.alloc(26);
		common.writeUInt16LE(20, 0);
		common.writeUInt32LE(crc32(data), 10);
		common.writeUInt32LE(data.length, 14);
		common.writeUInt32LE(data.length, 18);
		common.writeUInt16LE(name.length, 22);
		const place = Buffer.alloc(14);
		place.writeUInt32LE(offset, 10);
		const body = Buffer.concat([Buffer.from("PK\x03\x04"), common, name, data]);
		bodies.push(body);
		entries.push(
			Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), common, place, name]),
		);
		offset += body.length;
	}
	const directory = Buffer.concat(entries);
	const end = Buffer.alloc(22);
	end.write("PK\x05\x06", "latin1");
	end.writeUInt16LE(entries.length, 8);
	end.writeUInt16LE(entries.length, 10);
	end.writeUInt32LE(directory.length, 12);
	end.writeUInt32LE(offset, 16);
	return Buffer.concat([...bodies, directory, end]);
}
