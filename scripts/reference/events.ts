import type { SnakepitEventType } from "@snakepit/core";
import { EVENT_PAIRS } from "@snakepit/core/testing";
import { page, table } from "./page.ts";

/** Every event; one that is missing here does not compile. */
const EVENTS: Readonly<Record<SnakepitEventType, string>> = {
	"run.started": "This program has a run in the ledger of `dataDir`.",
	"run.ended":
		"The run is over; `clean` when its own program ended it in order.",
	"cleanup.started":
		"The ledger is searched for runs whose program is dead, before anything else starts.",
	"cleanup.finished": "What was found, killed and spared.",
	"orphan.reaped":
		"A process that a dead run (or a dead worker of this run) left behind is ended.",
	"orphan.spared": "A process was left alone, and why.",
	"run.spared": "A whole run was left alone, and why.",
	"registry.set_aside":
		"A ledger file that cannot be read was given another name; its run is cleaned by marker.",
	"registry.relocated":
		"The usual place of the ledger cannot be used; where it is instead.",
	"registry.degraded":
		"The ledger cannot be written; the pool goes on with its other layers.",
	"registry.recovered": "What could not be written was written.",
	"registry.file_lost":
		"Somebody removed, replaced or damaged the ledger file or the lock of this living run; told once.",
	"registry.file_renewed":
		"It was made anew: a ledger that was taken away with everything that was in it, a damaged one with the run and the workers that are in memory.",
	"audit.stray_found":
		"A process carries the run's marker, and its worker has ended or is unknown: seen at two looks in a row, told once.",
	"audit.stray_killed":
		'A stray was ended; only with `audit.strays: "killed"`.',
	"audit.stray_spared": "A stray could not be ended, and why.",
	"audit.failed":
		"The process table could not be read; all is tried again at the next look.",
	"registry.reconciled":
		"The ledger was compared with the process table and something was amiss.",
	"protection.started": "A protection is at work.",
	"protection.ended":
		"Its process is gone: released with the run, or lost and to be started again.",
	"protection.unavailable":
		"A protection that a pool asked for cannot work here, and why.",
	"protection.host_death_detected":
		"While no host lived: a protection noticed the death of its host. Told by the next start, with the time at which it happened.",
	"protection.process_killed":
		"While no host lived: a protection ended a process. Told by the next start.",
	"protection.run_settled":
		"While no host lived: a protection recorded the end of the run. Told by the next start.",
	"pool.started": "The minimum of workers is ready.",
	"pool.start_failed":
		"The pool could not be started; everything was ended again.",
	"pool.closing": "No more calls are taken.",
	"pool.closed": "Nothing of the pool is left.",
	"pool.restart_budget_spent": "Workers ended too often; the pool waits.",
	"pool.adapter_noted":
		"Something the adapter found out, such as which interpreter it chose and why.",
	"preload.started": "A preloaded parent is ready to fork workers.",
	"preload.ended":
		"The preloaded parent is gone: released with the pool, or lost, and its workers with it.",
	"preload.unavailable":
		"Workers start by themselves from now on, and why they cannot be forked.",
	"worker.starting": "A worker is about to be spawned.",
	"worker.spawned": "Its process exists and is recorded.",
	"worker.ready": "It can take calls; how long each phase took.",
	"worker.start_failed": "It could not be made ready.",
	"worker.retiring":
		"It takes no new calls and leaves when its last one is over.",
	"worker.condemned": "It has to go now, and why.",
	"worker.stop_step": "One rung of the stop ladder.",
	"worker.group_spared":
		"Its process is gone, its group's number is in use, and nothing proves that those processes are the worker's: they are left alone.",
	"worker.exited":
		"Its process is gone: exit, reason, last killer, calls lost, last lines.",
	"worker.output":
		"One line that it printed, with the call that ran alone while it was read.",
	"worker.logged": "One record of its own logging.",
	"heartbeat.sent": "It was asked whether it is there.",
	"heartbeat.answered": "It answered; how long that took.",
	"heartbeat.missed": "It did not answer in time.",
	"heartbeat.busy": "It is silent but computes: it gets one more grace.",
	"heartbeat.suspended":
		"What was missed may be the host's own fault: the count starts again.",
	"heartbeat.hung": "The verdict: it hangs, and will be replaced.",
	"call.accepted": "A call was taken.",
	"call.dispatched": "An attempt begins on a worker.",
	"call.released": "The attempt is over and the slot is free.",
	"call.retried": "It will be made again.",
	"call.settled": "It is over for its caller.",
	"session.started": "A session was opened.",
	"session.ended": "It was closed, expired, or was lost with its process.",
	"host.signal_received":
		"The program got SIGINT, SIGTERM or SIGHUP; `forced` for the second one; `answer` is what follows.",
	"host.grace_spent":
		"The program listens to the signal itself and has not ended within `signalGraceMs`: its pools close, then it ends by the signal.",
	"telemetry.misconfigured":
		"What telemetry observes does not reach the registered SDK: why, and what to do. Told once.",
	"listener.threw": "A listener threw; the others and the pool were not hurt.",
};

/** docs/reference/events.md */
export function eventsReference(): string {
	return page(
		"Events",
		'Heard with `pool.on(listener)`, `pool.on(type, listener)` or `onEvent`. Each is a fact in the past tense with `type` and `wallMs` (milliseconds since the Unix epoch); the fields of each are in its type, `EventOf<"worker.ready">`.',
		table(
			["event", "meaning"],
			Object.entries(EVENTS).map(([type, meaning]) => [`\`${type}\``, meaning]),
		),
		"## Pairs",
		"What lasts has one start and exactly one end.",
		table(
			["what", "start", "end"],
			EVENT_PAIRS.map(({ what, start, ends }) => [
				what,
				`\`${start}\``,
				ends.map((end) => `\`${end}\``).join(" or "),
			]),
		),
	);
}
