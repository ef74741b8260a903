import type { ProcessSpec } from "../../../src/contract/world.ts";

/** A program of a contract: what to execute. */
export type ContractProgram = Pick<ProcessSpec, "executable" | "args">;

/** How the programs of a contract are started, unless a case sets it otherwise. */
export const PLAIN: Omit<ProcessSpec, keyof ContractProgram> = {
	env: { PATH: process.env["PATH"] ?? "" },
	cwd: undefined,
	stdin: "empty",
	control: false,
};
