import {
	type ChildProcess,
	execFileSync,
	spawn,
	spawnSync,
} from "node:child_process";
import {
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	rmdirSync,
	rmSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { testMark } from "../../../../scripts/test-mark.ts";
import { SystemProcessHost } from "../../src/infrastructure.ts";
import { nativeBinary } from "../../src/os/launcher.ts";
import { eventually } from "../cleanup/hosts.ts";

/**
 * Runs a command where /proc hides what the command may not trace, and be it its child. In namespaces of its own, below a
 * directory of its own: no other process sees these mounts. It is the first process there, and everything ends with it.
 */
const HIDING = `
	set -e
	root=$1; here=$2; shift 2
	mount --rbind / "$root"
	mount -t proc -o hidepid=2,gid=65534 proc "$root/proc"
	exec chroot "$root" setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace \
		env --chdir "$here" "$@"`;
/** Becomes the first process, and stays when the command has ended. */
const FIRST = [
	"sh",
	"-c",
	'"$@" & wait $!; echo over; exec sleep 100000',
	"sh",
];

function hiding(root: string, command: readonly string[]): readonly string[] {
	if (!root.startsWith(join(tmpdir(), "snakepit-hidden-")))
		throw new Error(`not a directory of this test: ${root}`);
	return [
		...["unshare", "--mount", "--propagation", "private"],
		...["--pid", "--fork", "--kill-child"],
		...["sh", "-c", HIDING, "sh", root, process.cwd(), ...command],
	];
}

const isPermitted = ((): boolean => {
	if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
	const directory = mkdtempSync(join(tmpdir(), "snakepit-hidden-"));
	// Its child is hidden from it, so that the mount does what it is to do.
	const probe = `python3 -S -c '
import ctypes, os, signal
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    os.write(write, b"!")
    while True: signal.pause()
os.read(read, 1)
print(os.path.exists("/proc/self/stat"), os.path.exists(f"/proc/{pid}/stat"))
os.kill(pid, 9)
'`;
	const [program = "", ...args] = hiding(directory, ["sh", "-c", probe]);
	const { stdout } = spawnSync(program, args, {
		encoding: "utf8",
		timeout: 20_000,
		killSignal: "SIGKILL",
	});
	rmdirSync(directory);
	return stdout.startsWith("True False");
})();

interface Hidden {
	readonly child: ChildProcess;
	/** Every process in there that lives, but the first. */
	inside(): readonly number[];
	/** Resolves when one of its lines begins so. */
	says(beginning: string): Promise<string>;
}

function startHidden(...command: readonly string[]): Hidden {
	const root = mkdtempSync(join(tmpdir(), "snakepit-hidden-"));
	const [program = "", ...args] = hiding(root, [...FIRST, ...command]);
	const child = spawn(program, args, {
		stdio: ["ignore", "pipe", "inherit"],
		env: { ...process.env, ...testMark() },
	});
	const exit = new Promise((resolve) => child.once("exit", resolve));
	onTestFinished(async () => {
		child.kill("SIGKILL"); // And with it the first process, and all others.
		await exit;
		// Not recursively: it is empty, unless the mounts were not private.
		await eventually("its mounts are gone", () => removed(root));
	});
	let output = "";
	child.stdout?.on("data", (data) => {
		output += data;
	});
	const line = (beginning: string): string | undefined =>
		output.split("\n").find((each) => each.startsWith(beginning));
	return {
		child,
		says: async (beginning) => {
			await eventually(`"${beginning}"`, () => line(beginning) !== undefined);
			return line(beginning) ?? "";
		},
		inside: () => {
			const [first = 0] = childrenOf(child.pid ?? 0);
			const namespace = namespaceOf(first);
			return readdirSync("/proc")
				.map(Number)
				.filter((pid) => pid > 0 && pid !== first)
				.filter((pid) => namespaceOf(pid) === namespace && lives(pid));
		},
	};
}

function removed(directory: string): boolean {
	try {
		rmdirSync(directory);
		return true;
	} catch {
		return false;
	}
}

function childrenOf(pid: number): readonly number[] {
	return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
		.split(" ")
		.filter(Boolean)
		.map(Number);
}

function namespaceOf(pid: number): string | undefined {
	try {
		return readlinkSync(`/proc/${pid}/ns/pid`);
	} catch {
		return undefined; // It has ended.
	}
}

function lives(pid: number): boolean {
	const seen = machine.observe(pid);
	return seen !== "gone";
}

const machine = new SystemProcessHost();

/** Says "hidden", with a child and a daemon that have no environment: none of them can be traced. */
const HIDES = `python3 -S -c '
import ctypes, os, signal
def hide():
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    os.environ.clear()
    print("hidden", flush=True)
    while True: signal.pause()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: hide()
    os._exit(0)
os.wait()
if os.fork() == 0: hide()
hide()
'`;

function hostProgram(dataDir: string, script: string): readonly string[] {
	return [
		...[process.execPath, "--conditions=snakepit-source"],
		join(import.meta.dirname, "host-program.ts"),
		...[dataDir, script],
	];
}

function dataDirOfTest(): string {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
	mkdirSync(dataDir, { recursive: true });
	onTestFinished(() => rmSync(dataDir, { recursive: true }));
	return dataDir;
}

test.runIf(isPermitted)(
	"where /proc hides them, the guard still kills its worker, that one's child and its daemon with the host",
	async () => {
		const host = startHidden(...hostProgram(dataDirOfTest(), HIDES));
		await host.says("hidden");
		await eventually("all of it", () => host.inside().length >= 3 + 3 + 2);
		const node = host
			.inside()
			.find((pid) =>
				readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("host-program"),
			);
		process.kill(node ?? 0, "SIGKILL");
		await eventually("the end of all", () => host.inside().length === 0);
	},
	60_000,
);

test.runIf(isPermitted)(
	"where /proc hides them, snakepit run still kills what its command leaves",
	async () => {
		const end = join(dataDirOfTest(), "end");
		execFileSync("mkfifo", [end]);
		const run = startHidden(
			...[nativeBinary() ?? "", "run", "--grace", "100ms", "--", "sh", "-c"],
			`(trap "" TERM; ${HIDES}) & read x < ${end}`,
		);
		await run.says("hidden");
		await writeFile(end, "\n");
		await run.says("over");
		await eventually("the end of all", () => run.inside().length === 0);
	},
	60_000,
);

test.runIf(isPermitted)(
	"the doctor says what a /proc that hides processes takes away",
	async () => {
		const script = `
			import { doctor } from "${join(import.meta.dirname, "../../src/inspect.ts")}";
			console.log(JSON.stringify(await doctor({ dataDir: "${dataDirOfTest()}" })));
		`;
		const hidden = startHidden(
			...[process.execPath, "--conditions=snakepit-source"],
			...["--input-type=module", "-e", script],
		);
		const reports = JSON.parse(await hidden.says("["));
		const of = (layer: string) =>
			reports.find((each: { layer: string }) => each.layer === layer);
		expect(of("guard")).toMatchObject({ status: "available" });
		expect(of("process table")).toMatchObject({
			status: "active",
			detail: expect.stringMatching(/hidepid.*cannot be seen.*guard kills/),
			remedy: expect.stringMatching(/hidepid=0|gid=/),
		});
	},
	60_000,
);
