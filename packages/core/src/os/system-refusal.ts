import { StartError } from "../contract/errors.ts";

/** What helps when no more files can be opened, by this program or on the whole system. */
export const DESCRIPTORS_REMEDY =
	"Raise the limit of open files (ulimit -n; LimitNOFILE of a service), or close what the program has open.";

/** Whether an error means that this process, or the system, can open nothing more. */
export function outOfDescriptors(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return code === "EMFILE" || code === "ENFILE";
}

/**
 * What a look at the machine threw, in our words where it lacked descriptors.
 *
 * @param what what could not be done, as the beginning of a sentence.
 */
export function describedRefusal(error: unknown, what: string): unknown {
	if (!outOfDescriptors(error)) return error;
	return new StartError({
		code: "OUT_OF_DESCRIPTORS",
		ran: "no",
		message: `${what}: no more files can be opened (${(error as Error).message}). ${DESCRIPTORS_REMEDY}`,
		cause: error,
	});
}

/** What the system reports when a directory cannot be written, and what helps. */
const UNWRITABLE: readonly (readonly [RegExp, string])[] = [
	[/^(EMFILE|ENFILE)$/, DESCRIPTORS_REMEDY],
	[/^(ENOSPC|EDQUOT)$/, "Its file system is full: free some space there."],
	[/^EROFS$/, "Its file system is mounted read-only: mount it writable."],
	[
		/^(EACCES|EPERM)$/,
		"This user may not write there: change its permissions.",
	],
	[/^(ENOENT|ENOTDIR)$/, "It does not exist, or a file is in its place."],
];

/** What to do about a directory that cannot be written, by the system's code; empty when the code does not tell. */
export function unwritableRemedy(code: string | undefined): string {
	return UNWRITABLE.find(([pattern]) => pattern.test(code ?? ""))?.[1] ?? "";
}
