import { spawnSync } from "node:child_process";
import {
	availableParallelism,
	cpus,
	loadavg,
	release,
	type as systemName,
	totalmem,
} from "node:os";

/** Where a run was made. */
export interface Machine {
	readonly processor: string;
	/** Those that this process may use. */
	readonly processors: number;
	readonly memoryGb: number;
	readonly kernel: string;
	/** Load average of the last minute when the run began: what others were doing. */
	readonly loadBefore: number;
	readonly versions: Readonly<Record<string, string>>;
}

export function describeMachine(
	python: string,
	freeThreadedPython?: string,
): Machine {
	const freeThreaded =
		freeThreadedPython === undefined
			? {}
			: { "free-threaded": pythonVersions(freeThreadedPython)["python"] ?? "" };

	return {
		processor: cpus()[0]?.model.trim() ?? "unknown",
		processors: availableParallelism(),
		memoryGb: Math.round(totalmem() / 2 ** 30),
		kernel: `${systemName()} ${release().split("-")[0]}`,
		loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
		versions: {
			node: process.versions.node,
			...pythonVersions(python),
			...freeThreaded,
		},
	};
}

function pythonVersions(python: string): Record<string, string> {
	const program = `
import json, platform
from importlib.metadata import PackageNotFoundError, version
found = {"python": f"{platform.python_implementation()} {platform.python_version()}"}
for name in ["grpcio", "protobuf", "msgpack", "numpy"]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        pass
print(json.dumps(found))`;
	const { status, stdout, stderr } = spawnSync(python, ["-c", program], {
		encoding: "utf8",
	});
	if (status !== 0) throw new Error(`${python} does not run: ${stderr}`);
	return JSON.parse(stdout);
}
