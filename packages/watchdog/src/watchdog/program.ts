// The watchdog itself: a process that waits for the death of the process that started it.
import { Socket } from "node:net";
import { SystemProcessHost, systemClock } from "@snakepit/core/infrastructure";
import { HostDeath } from "./host-death.ts";
import { judgeHost } from "./judge-host.ts";
import { MessageReader, READY } from "./message.ts";
import { WatchList } from "./watch-list.ts";

const PIPE = 3;
/** The delay before the first check after the pipe was closed; it doubles each time, up to the check interval. */
const FIRST_LOOK_MS = 5;
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
	for (const message of reader.push(chunk)) list.take(message);
});
// If a host dies with unread data, the kernel resets the connection. That also means its end.
pipe.on("error", () => {});
pipe.once("close", () => {
	host.keepAlive();
	look(FIRST_LOOK_MS, systemClock.now());
});
pipe.write(READY);

/** @param signAt when the pipe ended. */
function look(againAfterMs: number, signAt: number): void {
	const { runs } = list;
	const [run] = runs;
	const verdict = judgeHost({
		pipe: "closed",
		runs: run === undefined ? "none" : "some",
		host: run === undefined ? "unknown" : host.condition(run.owner),
	});
	if (verdict === "leave") process.exit();
	if (verdict === "kill") {
		const death = new HostDeath({ host, clock: systemClock, runs, signAt });
		void death.handle().finally(() => process.exit());
		return;
	}
	const longestMs = Math.min(...runs.map((each) => each.checkIntervalMs));
	systemClock.after(Math.min(againAfterMs, longestMs), () =>
		look(againAfterMs * 2, signAt),
	);
}
