import type { ProcessSpec, StartedProcess } from "../../src/contract/world.ts";
import type {
	FakeProcess,
	FakeProcessHost,
	FakeProgram,
	VirtualClock,
} from "../../src/testing.ts";

/** A program without arguments, environment, input or control channel. */
export const PROGRAM: ProcessSpec = {
	executable: "program",
	args: [],
	env: {},
	cwd: undefined,
	stdin: "empty",
	control: false,
};

/** Starts a program on a fake host; it has done what it does at once. */
export async function startProgram(
	host: FakeProcessHost,
	clock: VirtualClock,
	program: FakeProgram,
	spec: Partial<ProcessSpec> = {},
): Promise<[StartedProcess, FakeProcess]> {
	host.install("program", program);
	const started = await host.source.start(
		{ ...PROGRAM, ...spec },
		() => undefined,
	);
	await clock.settle();
	return [started, host.started.at(-1) as FakeProcess];
}
