import { spawnSync } from "node:child_process";
import {
	chmodSync,
	chownSync,
	cpSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { unavailable } from "../../scripts/ray/namespace.ts";
import { must, root } from "../../scripts/run.ts";

/** Of nobody: a user who owns nothing here and may signal no process of anybody. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/**
 * A copy of the repository, and what encloses the mutants in it: code that kills processes and removes directories may
 * do either to anything when it is changed. So it runs in a pid namespace that has only its own processes, and, where
 * root starts it, as nobody.
 */
export interface Workspace extends Disposable {
	readonly directory: string;
	/** Put before a command that runs mutants. */
	readonly enclosed: readonly string[];
	/** The environment of such a command. It has a home of its own. */
	readonly env: NodeJS.ProcessEnv;
}

/** @throws Error when this machine permits no private pid namespace. */
export function makeWorkspace(): Workspace {
	const enclosed = [
		"unshare",
		...(isRoot ? [] : ["--user", "--map-current-user"]),
		...["--pid", "--fork", "--kill-child", "--mount-proc"],
		...(isRoot
			? [
					...["setpriv", "--pdeathsig=KILL", "--clear-groups"],
					...[`--reuid=${NOBODY}`, `--regid=${NOBODY}`],
				]
			: []),
	];
	const problem = unavailable("private pid namespace", enclosed);
	if (problem !== undefined)
		throw new Error(
			`Mutants run in a private pid namespace only: ${problem}. On Linux allow unprivileged user namespaces, or run this as root.`,
		);
	const parent = mkdtempSync(join(tmpdir(), "sp-m-"));
	chmodSync(parent, 0o755);
	const directory = join(parent, "repo");
	const home = join(parent, "home");
	for (const path of [directory, home]) {
		mkdirSync(path);
		if (isRoot) chownSync(path, NOBODY, NOBODY);
	}
	for (const file of trackedFiles()) {
		mkdirSync(join(directory, dirname(file)), { recursive: true });
		cpSync(join(root, file), join(directory, file));
	}
	return {
		...{ directory, enclosed },
		env: { PATH: process.env["PATH"], HOME: home, TMPDIR: home },
		[Symbol.dispose]: () => rmSync(parent, { recursive: true, force: true }),
	};
}

/** Installs Stryker in the copy. */
export function installStryker({ directory: cwd }: Workspace): void {
	const { dependencies } = JSON.parse(
		readFileSync(join(root, "mutation/package.json"), "utf8"),
	) as { dependencies: Record<string, string> };
	const packages = Object.entries(dependencies).map(([n, v]) => `${n}@${v}`);
	must("npx", ["--yes", "pnpm@12", "add", "-w", "-D", ...packages], { cwd });
}

function trackedFiles(): readonly string[] {
	const { stdout } = spawnSync(
		"git",
		["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
		{ cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 },
	);
	return stdout.split("\0").filter((file) => file !== "");
}
