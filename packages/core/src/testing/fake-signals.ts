/** What a signal does to a program that has no handler for it; the others end it. */
export const HARMLESS: ReadonlySet<NodeJS.Signals> = new Set([
	"SIGCHLD",
	"SIGURG",
	"SIGWINCH",
	"SIGCONT",
]);
/** Signals that stop it. */
export const STOPPING: ReadonlySet<NodeJS.Signals> = new Set([
	"SIGSTOP",
	"SIGTSTP",
	"SIGTTIN",
	"SIGTTOU",
]);
