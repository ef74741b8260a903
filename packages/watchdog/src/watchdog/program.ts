// The watchdog itself: a process that waits for the death of the process that started it.
import { Socket } from "node:net";
import {
	type ProcessIdentity,
	SystemProcessHost,
	systemClock,
} from "@snakepit/core/infrastructure";
import { HostDeath } from "./host-death.ts";
import { type HostEvidence, judgeHost } from "./judge-host.ts";
import { MessageReader, READY, WatchList } from "./message.ts";

const PIPE = 3;
/** The delay before the first check after the pipe was closed; it doubles each time, up to the check interval. */
const FIRST_LOOK_MS = 5;
/** While the pipe is open, which reports the end of a host that has no copy: how often to look all the same. */
const LOOK_MS = 1_000;
/** The signals that a terminal or an impatient script sends. SIGUSR1 would open a debugger's port. */
const IGNORED: readonly NodeJS.Signals[] = [
	"SIGINT",
	"SIGTERM",
	"SIGHUP",
	"SIGQUIT",
	"SIGUSR1",
	"SIGUSR2",
	"SIGALRM",
];

for (const signal of IGNORED) process.on(signal, () => {});
const host = new SystemProcessHost();
const list = new WatchList();
const reader = new MessageReader();
const pipe = new Socket({ fd: PIPE, readable: true, writable: true });
pipe.on("data", (chunk: Buffer) => {
	for (const message of reader.push(chunk)) list.apply(message);
});
// If a host dies with unread data, the kernel resets the connection. That also means its end.
pipe.on("error", () => {});
const watched: {
	/** Over: the host is dead, and nothing is watched any more. */
	pipe: HostEvidence["pipe"] | "over";
	owner?: ProcessIdentity | undefined;
} = { pipe: "open" };
pipe.once("close", () => {
	// Otherwise its end was seen before.
	if (watched.pipe === "over") return;
	host.keepAlive();
	watched.pipe = "closed";
	look("closed", FIRST_LOOK_MS, systemClock.now());
});
pipe.write(READY);
look("open", LOOK_MS, systemClock.now());

/**
 * Looks at the host, now and again: those that began before the pipe was closed end with that.
 *
 * @param signAt when the pipe ended; while it is open, this look.
 */
function look(
	pipe: HostEvidence["pipe"],
	againAfterMs: number,
	signAt: number,
): void {
	if (pipe !== watched.pipe) return;
	const { runs } = list;
	watched.owner = runs[0]?.owner ?? watched.owner;
	const verdict = judgeHost({
		pipe,
		runs: runs.length === 0 ? "none" : "some",
		host:
			watched.owner === undefined ? "unknown" : host.condition(watched.owner),
	});
	if (verdict === "leave") process.exit();
	if (verdict === "kill") {
		host.keepAlive();
		watched.pipe = "over";
		const death = new HostDeath({ host, clock: systemClock, runs, signAt });
		void death.handle().finally(() => process.exit());
		return;
	}
	const longestMs = Math.min(...runs.map((each) => each.checkIntervalMs));
	systemClock.after(Math.min(againAfterMs, longestMs), () =>
		look(
			pipe,
			...(pipe === "open"
				? ([againAfterMs, systemClock.now()] as const)
				: ([againAfterMs * 2, signAt] as const)),
		),
	);
}
