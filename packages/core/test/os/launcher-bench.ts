import { join } from "node:path";
import { onTestFinished } from "vitest";
import { testMark } from "../../../../scripts/test-mark.ts";
import type {
	Launcher,
	ProcessSpec,
	StartedProcess,
} from "../../src/contract/world.ts";
import { nativeBinary } from "../../src/os/launcher.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

/** What all programs have in common. */
export const plain: Omit<ProcessSpec, "executable"> = {
	args: [],
	env: { PATH: process.env["PATH"] ?? "", ...testMark() },
	cwd: undefined,
	stdin: "empty",
	control: false,
};

/** A launcher with a lifeline of its own, which is closed with the test. */
export async function launcher(): Promise<Launcher> {
	const path = join(temporaryDirectory(), "l");
	const listener = await machine.listenLifeline(path);
	onTestFinished(() => listener.close());
	return { binary: nativeBinary() ?? "", lifeline: path };
}

/** Starts a program, and keeps this one open for its events. */
export function start(spec: ProcessSpec): Promise<StartedProcess> {
	onTestFinished(machine.keepAlive());
	return machine.source.start(spec, () => {});
}
