import { spawnSync } from "node:child_process";

const PROGRAM = `
import compileall, snakepit_bridge
raise SystemExit(not compileall.compile_dir(snakepit_bridge.__path__[0], quiet=1))
`;

/**
 * Compiles the bridge of a Python, as pip does with what it installs: where the
 * environment forbids Python to keep what it compiles, every start of a worker
 * would compile the bridge anew, and only ours.
 *
 * @throws Error when it cannot be compiled.
 */
export function compileBridge(python: string): void {
	const { status, stderr } = spawnSync(python, ["-c", PROGRAM], {
		encoding: "utf8",
	});
	if (status !== 0)
		throw new Error(`${python} cannot compile snakepit_bridge: ${stderr}`);
}
