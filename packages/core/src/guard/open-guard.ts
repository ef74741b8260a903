import { StartError } from "../contract/errors.ts";
import { ProtectionUnavailable } from "../contract/protection.ts";
import { type GuardContext, guardProgram, hasGuard } from "./guard-chain.ts";
import { GuardSource } from "./guard-source.ts";

/**
 * Opens the guard of a run: the parent of its workers.
 *
 * @param mode `"auto"`: where the guard cannot work, Node forks instead.
 * @returns `undefined` where there is no program for it.
 * @throws StartError `PROTECTION_UNAVAILABLE` when it is required and cannot work.
 */
export async function openGuard(
	mode: "auto" | "required",
	context: GuardContext,
): Promise<GuardSource | undefined> {
	if (mode === "auto" && !hasGuard(process.platform, process.arch))
		return undefined;
	try {
		const program = guardProgram(context.host.nativeBinary());
		const source = new GuardSource(context, program, mode);
		await source.open();
		return source;
	} catch (error) {
		if (!(error instanceof ProtectionUnavailable)) throw error;
		context.emit({
			type: "protection.unavailable",
			wallMs: context.clock.wall(),
			protection: "guard",
			reason: error.message,
		});
		if (mode === "auto") return undefined;
		throw new StartError({
			code: "PROTECTION_UNAVAILABLE",
			message: `The guard is not available here, but the run requires it (guard: "required"). ${error.message}`,
			cause: error,
		});
	}
}
