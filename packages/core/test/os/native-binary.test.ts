import { execFileSync, spawnSync } from "node:child_process";
import {
	chmodSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { nativeBinary, rememberedBinary } from "../../src/os/launcher.ts";

test.runIf(process.platform === "linux")(
	"the native binary for this machine is found and runs",
	({ expect }) => {
		const binary = nativeBinary();
		expect(binary).toMatch(/native-linux-(x64|arm64)\/bin\/snakepit-native$/);
		const { status, stderr } = spawnSync(binary as string, [], {
			encoding: "utf8",
		});
		expect({ status, stderr }).toEqual({
			status: 64,
			stderr:
				"snakepit-native: usage: snakepit-native lifeline|guard|run ...\n",
		});
	},
);

test("each package has the binary of its processor, executable for all", ({
	expect,
}) => {
	// ELF, 64 bits, little-endian; the processor's number is at offset 18.
	for (const [architecture, machine] of [
		["x64", 62],
		["arm64", 183],
	] as const) {
		const binary = nativeBinary({
			platform: "linux",
			architecture,
		}) as string;
		const header = execFileSync("head", ["-c", "20", binary]);
		expect(header.subarray(0, 6).toString("latin1")).toBe("\x7fELF\x02\x01");
		expect(header.readUInt16LE(18)).toBe(machine);
	}
});

test("each is loaded at another address every time, has no stack that executes, and its functions check theirs", ({
	expect,
}) => {
	for (const architecture of ["x64", "arm64"]) {
		const path = nativeBinary({ platform: "linux", architecture }) as string;
		const bytes = readFileSync(path);
		// Source: elf(5), for 64 bits: the type, and the table of segments with the type and the rights of each.
		const at = Number(bytes.readBigUInt64LE(32));
		const size = bytes.readUInt16LE(54);
		const segments = Array.from({ length: bytes.readUInt16LE(56) }, (_, n) => ({
			type: bytes.readUInt32LE(at + n * size),
			rights: bytes.readUInt32LE(at + n * size + 4),
		}));
		const of = (type: number) => segments.filter((each) => each.type === type);
		const [EXECUTE, STACK, READ_ONLY_AFTER_RELOCATION, INTERPRETER] = [
			...[1, 0x6474e551, 0x6474e552, 3],
		] as const;
		expect(bytes.readUInt16LE(16)).toBe(3); // Neither fixed to an address nor a library: it has no interpreter.
		expect(of(INTERPRETER)).toEqual([]);
		expect(of(STACK).map(({ rights }) => rights & EXECUTE)).toEqual([0]);
		expect(of(READ_ONLY_AFTER_RELOCATION).length).toBe(1);
		// One order builds both; only of this processor it is known how a function reads the value that it checks: fs:0x28.
		if (architecture === "x64")
			expect(
				bytes.toString("latin1").split("\x25\x28\0\0\0").length,
			).toBeGreaterThan(50);
		expect(bytes.length).toBeLessThan(100_000);
	}
});

test("there is no binary for another system, and none that is missing or not executable", ({
	expect,
}) => {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-native-"));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	expect(nativeBinary({ platform: "darwin" })).toBeUndefined();
	expect(nativeBinary({ architecture: "riscv64" })).toBeUndefined();

	const program = join(directory, "program.js");
	const place = { platform: "linux", architecture: "x64", from: [program] };
	expect(nativeBinary({ ...place, from: [] })).toBeUndefined();
	expect(nativeBinary(place)).toBeUndefined();
	const bin = join(directory, "node_modules/@snakepit/native-linux-x64/bin");
	mkdirSync(bin, { recursive: true });
	const file = join(bin, "snakepit-native");
	writeFileSync(file, "", { mode: 0o644 });
	expect(nativeBinary(place)).toBeUndefined();
	chmodSync(file, 0o755);
	expect(nativeBinary(place)).toBe(file);
	const elsewhere = "file:///nowhere/module.js";
	expect(nativeBinary({ ...place, from: [elsewhere, program] })).toBe(file);
});

test("it is looked for once, and what was found is found again", ({
	expect,
}) => {
	const remembered = rememberedBinary();
	expect(remembered()).toBe(nativeBinary());
	expect(remembered()).toBe(nativeBinary());
});
