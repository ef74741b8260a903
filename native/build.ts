// Builds the native binary for every target, and puts it into the package that is published for it. With --check it
// only compares: the committed binaries must be what the committed sources make, byte for byte.
import { createHash } from "node:crypto";
import {
	chmodSync,
	copyFileSync,
	globSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { environment } from "../scripts/python-environment.ts";
import { must, root } from "../scripts/run.ts";

const TARGETS = {
	"x86_64-linux-musl": "packages/native-linux-x64/bin/snakepit-native",
	"aarch64-linux-musl": "packages/native-linux-arm64/bin/snakepit-native",
};
// Loaded at another address every time, with functions that notice when their stack was written over. No debug
// information: it would hold paths of this machine.
const FLAGS =
	"-std=c11 -D_GNU_SOURCE -Os -static -pie -fPIE -fstack-protector-strong -s -Wall -Wextra -Werror".split(
		" ",
	);

const here = import.meta.dirname;
const isCheck = process.argv[2] === "--check";
if (process.argv.length > (isCheck ? 3 : 2)) {
	console.error("Usage: node native/build.ts [--check]");
	process.exit(2);
}

const requirements = join(here, "requirements.txt");
const python = environment(
	join(root, "node_modules/.cache/python/ziglang"),
	["--require-hashes", "--requirement", requirements],
	readFileSync(requirements, "utf8"),
);
const sources = globSync("src/**/*.c", { cwd: here }).sort();
const work = mkdtempSync(join(tmpdir(), "snakepit-native-"));
try {
	for (const [target, place] of Object.entries(TARGETS)) {
		const built = join(work, target);
		compile(target, built);
		if (isCheck) compare(built, place);
		else put(built, place);
	}
} finally {
	rmSync(work, { recursive: true });
}

function compile(target: string, output: string): void {
	const compiler = ["-m", "ziglang", "cc", "-target", target];
	must(python, [...compiler, ...FLAGS, ...sources, "-o", output], {
		cwd: here,
	});
}

function compare(built: string, place: string): void {
	const [expected, found] = [built, join(root, place)].map(digest);
	if (expected === found) {
		console.log(`${place} is fresh: sha256 ${found}`);
		return;
	}
	console.error(
		`${place} is not what native/src makes: its sha256 is ${found}, that of a fresh one ${expected}. Run \`node native/build.ts\` and commit what it makes.`,
	);
	process.exitCode = 1;
}

function put(built: string, place: string): void {
	const file = join(root, place);
	mkdirSync(dirname(file), { recursive: true });
	copyFileSync(built, file);
	chmodSync(file, 0o755);
	console.log(`${place}: sha256 ${digest(file)}`);
}

function digest(file: string): string {
	return createHash("sha256").update(readFileSync(file)).digest("hex");
}
