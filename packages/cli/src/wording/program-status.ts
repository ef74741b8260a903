import type {
	Finding,
	FindingKind,
	Level,
	PoolSnapshot,
	ServedState,
} from "@snakepit/control";
import type {
	RunElsewhere,
	RunOfAnother,
	SparedRun,
} from "@snakepit/core/inspect";
import { counted, duration, plainText, words } from "./figures.ts";

/** What is known about one program, before it is judged. */
export type ProgramFacts =
	| LivingProgram
	| {
			/** It was killed, and nothing has cleaned up after it. */
			readonly kind: "dead";
			readonly runId: string;
			readonly program: string | undefined;
			readonly ledger: LedgerPlace;
			/** Pids of its workers, and of what they started. */
			readonly left: readonly number[];
			/** Pids of processes that look like its own, and would be left alone. */
			readonly spared: readonly number[];
	  }
	| {
			/** It cannot be judged from here. */
			readonly kind: "unclear";
			readonly runId: string;
			readonly dataDir: string;
			readonly reason: SparedRun["reason"];
	  }
	| {
			/** A ledger, or the file of one run, that this user may not read. */
			readonly kind: "unreadable";
			readonly path: string;
			readonly reason: string;
	  }
	| ({ readonly kind: "of_another" } & RunOfAnother);

/** Where the ledger of a program is; `unknown`: only its processes show the program. */
export type LedgerPlace =
	| { readonly kind: "default" }
	| { readonly kind: "named"; readonly dataDir: string }
	| { readonly kind: "unknown" };

/** A program that lives. */
export interface LivingProgram {
	readonly kind: "living";
	readonly runId: string;
	readonly pid: number;
	readonly program: string | undefined;
	readonly dataDir: string | undefined;
	readonly ledger: LedgerPlace;
	/** Milliseconds since the Unix epoch. */
	readonly startedAtMs: number | undefined;
	readonly view: ProgramView;
	/** Workers that were stopped by a signal, by pid. */
	readonly stoppedWorkers: readonly number[];
}

/** What can be seen of a living program. */
export type ProgramView =
	| { readonly kind: "seen"; readonly state: ServedState }
	/** It does not run: stopped by a signal, or by what traces it. */
	| {
			readonly kind: "halted";
			readonly how: Exclude<RunElsewhere["halted"], "no">;
	  }
	/** It runs, and does not answer. */
	| { readonly kind: "silent"; readonly forMs: number }
	/** It takes no clients. The number of its workers is of its ledger; `undefined` where that is unknown, too. */
	| { readonly kind: "off"; readonly workers: number | undefined }
	/** It takes clients, and does not let them read. */
	| { readonly kind: "refused"; readonly message: string };

/** `"unknown"`: nothing bad is known, and not everything can be seen. */
export type StatusLevel = Level | "unknown";

/** A program as it is judged. */
export interface ProgramStatus {
	readonly level: StatusLevel;
	/** The condition in a few words. */
	readonly words: string;
	/** What is to be said about it, the worst first; none about one that is fine. */
	readonly remarks: readonly Remark[];
	readonly pools: readonly PoolStatus[];
}

export interface Remark {
	readonly kind: RemarkKind;
	readonly level: Exclude<StatusLevel, "fine">;
	/** What it is about, as lists name it: a program, or a run, or a ledger. */
	readonly subject: string;
	/** The program that it is about; `null` for what is no program that lives. */
	readonly program: string | null;
	/** What it is, in two or three words. */
	readonly words: string;
	/** A sentence; about a whole program, without its beginning. */
	readonly text: string;
	/** What to do, as a sentence; `null` where nothing has to be done. */
	readonly remedy: string | null;
	/** `null`: about the whole program. */
	readonly pool: string | null;
}

/** What a remark is about: a finding of a program, or what is known without it. */
export type RemarkKind =
	| FindingKind
	| "halted_program"
	| "silent_program"
	| "unseen_program"
	| "dead_program"
	| "failed_program"
	| "unclear_run"
	| "stopped_worker"
	| "unreadable_ledger";

export interface PoolStatus {
	readonly pool: string;
	readonly level: Level;
	/** Its state in two or three words. */
	readonly words: string;
	readonly snapshot: PoolSnapshot;
	readonly ready: number;
	readonly busy: number;
	readonly remarks: readonly Remark[];
}

/**
 * Judges one program.
 *
 * @param remedies whether their commands have to name the run, as where several programs live.
 */
export function programStatus(
	facts: ProgramFacts,
	remedies: "name the run" | "are short",
): ProgramStatus {
	switch (facts.kind) {
		case "living": {
			const status = livingStatus(facts);
			return remedies === "name the run" ? named(status, facts.runId) : status;
		}
		case "dead":
			return deadStatus(facts);
		case "unclear":
			return unclearStatus(facts);
		case "unreadable": {
			const { path, reason } = facts;
			return alone({
				...{ kind: "unreadable_ledger", level: "trouble" },
				...{ words: "unreadable", subject: `ledger ${path}` },
				text: `The ledger ${path} cannot be read: ${reason}.`,
				remedy:
					"Look at it as the user to whom it belongs, or mend its permissions.",
			});
		}
		case "of_another":
			return otherStatus(facts);
	}
}

/** Of what has no pools to be seen: there is one thing to be said about it. */
function alone(
	remark: Omit<Remark, "program" | "pool">,
	program: string | null = null,
): ProgramStatus {
	const { level, words } = remark;
	return {
		level,
		words,
		remarks: [{ ...remark, program, pool: null }],
		pools: [],
	};
}

/** Has the commands of its remedies name the run. */
function named(status: ProgramStatus, runId: string): ProgramStatus {
	const withRun = (remark: Remark): Remark => ({
		...remark,
		remedy:
			remark.remedy?.replace(
				/snakepit (top|stacks|restart|resume|resize)\b/g,
				`snakepit $1 --run ${runId}`,
			) ?? null,
	});
	const remarks = status.remarks.map(withRun);
	const pools = status.pools.map((pool) => ({
		...pool,
		remarks: remarks.filter((remark) => remark.pool === pool.pool),
	}));
	return { ...status, remarks, pools };
}

/** Names a program in the middle of a sentence. */
export function programName({
	program,
	pid,
}: Pick<LivingProgram, "program" | "pid">): string {
	return plainText(`${program ?? "a program"} (pid ${pid})`);
}

function livingStatus(facts: LivingProgram): ProgramStatus {
	const { view, pid } = facts;
	const name = programName(facts);
	const it = (
		kind: RemarkKind,
		level: Remark["level"],
		words: string,
		text: string,
		remedy: string | null,
	): ProgramStatus =>
		alone({ kind, level, words, subject: name, text, remedy }, name);
	switch (view.kind) {
		case "halted":
			return view.how === "stopped"
				? it(
						"halted_program",
						"trouble",
						"stopped",
						"is stopped (by SIGSTOP, or Ctrl-Z in its terminal): it takes no calls and no answers.",
						`Continue it: kill -CONT ${pid}.`,
					)
				: it(
						"halted_program",
						"trouble",
						"held by a debugger",
						"is held by a debugger: it takes no calls and no answers.",
						"Let it go on in the debugger, or end that.",
					);
		case "silent":
			return it(
				"silent_program",
				"trouble",
				"does not answer",
				`has not answered for ${duration(view.forMs)}, and is not stopped: its event loop is blocked.`,
				`See where: node inspect -p ${pid}, then "pause" and "backtrace"; or restart it.`,
			);
		case "off":
			return it(
				"unseen_program",
				"unknown",
				"control off",
				`lives${view.workers === undefined ? "" : ` with ${counted(view.workers, "worker")}`}, and its pools cannot be seen: control is off, or its TMPDIR is another one than here.`,
				"If control is off, remove control: false or SNAKEPIT_CONTROL=0 and start it again; otherwise give this command the TMPDIR of the program.",
			);
		case "refused":
			return it(
				"unseen_program",
				"unknown",
				"not shown",
				`lives, and its pools cannot be seen: ${view.message}`,
				null,
			);
		case "seen":
			return seenStatus(view.state, name, facts);
	}
}

function seenStatus(
	{ run, verdict }: ServedState,
	name: string,
	{ stoppedWorkers, ledger }: LivingProgram,
): ProgramStatus {
	const stopped = run.pools.flatMap(({ pool, workers }) =>
		workers.flatMap(({ workerId, pid }): readonly Remark[] =>
			pid !== null && stoppedWorkers.includes(pid)
				? [
						{
							...{ kind: "stopped_worker", level: "trouble", pool },
							...{ program: name, subject: name, words: "stopped worker" },
							text: `${pool}: worker ${workerId} (pid ${pid}) is stopped (by SIGSTOP).`,
							remedy: `Continue it: kill -CONT ${pid}.`,
						},
					]
				: [],
		),
	);
	const isStopped = ({ kind, workerId }: Finding): boolean =>
		(kind === "hung_worker" || kind === "long_call") &&
		run.pools.some(({ workers }) =>
			workers.some(
				(worker) =>
					worker.workerId === workerId &&
					stoppedWorkers.includes(worker.pid ?? 0),
			),
		);
	const findings = verdict.findings.filter((finding) => !isStopped(finding));
	const remarks = [
		...stopped,
		...findings.map(({ kind, level, words, text, remedy, pool }) => ({
			...{ kind, level, program: name, subject: name, words, text, pool },
			remedy: withLedger(remedy, ledger),
		})),
	].toSorted(byWorst);
	const pools = run.pools.map((snapshot): PoolStatus => {
		const { pool, workers } = snapshot;
		const own = remarks.filter((remark) => remark.pool === pool);
		return {
			...{ pool, snapshot },
			...(own[0]?.kind === "stopped_worker"
				? { level: "trouble", words: "stopped worker" }
				: poolState(snapshot, findings)),
			ready: workers.filter(({ state }) => state === "ready").length,
			busy: workers.filter(({ running }) => running.length > 0).length,
			remarks: own,
		};
	});
	const level = stopped.length > 0 ? "trouble" : verdict.level;
	return {
		...{ level, remarks, pools },
		words: pools.length === 0 ? "no pool" : level === "fine" ? "lives" : level,
	};
}

/** Has a command that reads the ledger name it, unless it is the one that the command reads by itself. */
function withLedger(remedy: string | null, ledger: LedgerPlace): string | null {
	if (remedy === null || ledger.kind !== "named") return remedy;
	return remedy.replace(
		/snakepit (calls|incidents) [^.]*/,
		(command) => `${command} --data-dir ${ledger.dataDir}`,
	);
}

/** The state of a pool in words: the worst that was found. @param findings those of its run, the worst first. */
export function poolState(
	{ pool, workers }: Pick<PoolSnapshot, "pool" | "workers">,
	findings: readonly Finding[],
): Pick<PoolStatus, "level" | "words"> {
	const worst = findings.find((finding) => finding.pool === pool);
	if (worst !== undefined) return { level: worst.level, words: worst.words };
	const isIdle = workers.every(({ running }) => running.length === 0);
	return { level: "fine", words: isIdle ? "idle" : "works" };
}

type Of<Kind extends ProgramFacts["kind"]> = Extract<
	ProgramFacts,
	{ readonly kind: Kind }
>;

function deadStatus({
	runId,
	program,
	ledger,
	left,
	spared,
}: Of<"dead">): ProgramStatus {
	const subject = `${plainText(program ?? "a program")} (run ${runId})`;
	const where = ledger.kind === "named" ? ` --data-dir ${ledger.dataDir}` : "";
	const remains =
		left.length === 0
			? "none of its workers is left"
			: `${counted(left.length, "process is", "processes are")} left (pid ${left.slice(0, 5).join(", ")}${left.length > 5 ? ", …" : ""})`;
	const kept =
		spared.length === 0
			? ""
			: `; ${counted(spared.length, "process", "processes")} may be of it and would be left alone`;
	return alone({
		...{ kind: "dead_program", level: "trouble", words: "dead", subject },
		text: `${subject} died without closing its run, and ${remains}${kept}.`,
		remedy:
			ledger.kind === "unknown"
				? "Its data directory is not known here. Clean up: start it again, or snakepit reap with that as --data-dir."
				: `Why: snakepit incidents --run ${runId}${where}. Clean up: start it again, or snakepit reap${where}.`,
	});
}

const UNCLEAR: Readonly<Partial<Record<SparedRun["reason"], string>>> = {
	other_machine: "it is of another machine that shares this directory",
	other_pid_namespace: "it is of another container (pid namespace)",
	identity_unknown: "the process table does not show its program",
	unreadable: "its file cannot be read",
};

function unclearStatus({
	runId,
	dataDir,
	reason,
}: Of<"unclear">): ProgramStatus {
	const isUnreadable = reason === "unreadable";
	return alone({
		kind: isUnreadable ? "unreadable_ledger" : "unclear_run",
		level: isUnreadable ? "trouble" : "unknown",
		...{ words: "unclear", subject: `run ${runId}` },
		text: `Run ${runId} in ${dataDir} cannot be judged from here: ${UNCLEAR[reason] ?? words(reason)}.`,
		remedy: isUnreadable
			? "The next start of a program sets the file aside, and says why."
			: "Look at it from there.",
	});
}

function otherStatus({
	runId,
	uid,
	directory,
	lives,
}: Of<"of_another">): ProgramStatus {
	const subject = `run ${runId} of user ${uid}`;
	return alone({
		...{ kind: "unclear_run", level: "unknown" },
		...{ words: "another user's", subject },
		text: `Run ${runId} of user ${uid} ${lives === "yes" ? "lives" : "may live"} (${directory}), and only that user can look at it.`,
		remedy: `As that user: sudo -u '#${uid}' snakepit ps.`,
	});
}

/** The condition of all programs, for the first line and the exit status. */
export interface Status {
	readonly level: StatusLevel;
	readonly text: string;
	/** What the text says; `undefined` when it only counts. */
	readonly remark: Remark | undefined;
}

const WORST_FIRST: readonly StatusLevel[] = [
	"trouble",
	"unknown",
	"busy",
	"fine",
];

/** Of each level: first what serves no call, then what loses or delays some, then what may be as wanted. */
const RANKS: Readonly<Record<RemarkKind, number>> = {
	...{ crash_loop: 0, no_worker: 1, halted_program: 2, silent_program: 3 },
	...{ long_queue: 4, stopped_worker: 5, hung_worker: 6, workers_end: 7 },
	...{ calls_fail: 8, unwritten_ledger: 9, dead_program: 10 },
	...{ unreadable_ledger: 11, paused: 12, long_call: 13, failed_program: 14 },
	...{ starting: 15, waiting: 16, closing: 17, unseen_program: 18 },
	unclear_run: 19,
};

type Ranked = Pick<Remark, "kind" | "level">;

function byWorst(a: Ranked, b: Ranked): number {
	const level = WORST_FIRST.indexOf(a.level) - WORST_FIRST.indexOf(b.level);
	return level === 0 ? RANKS[a.kind] - RANKS[b.kind] : level;
}

/** The programs of a list: those in trouble first, and of these the one with the worst. */
export function worstFirst<Program extends Pick<JudgedProgram, "status">>(
	programs: readonly Program[],
): readonly Program[] {
	const placeOf = ({ status }: Program): number => {
		if (status.level !== "trouble") return Number.POSITIVE_INFINITY;
		return Math.min(
			...status.remarks
				.filter(({ level }) => level === "trouble")
				.map(({ kind }) => RANKS[kind]),
		);
	};
	return programs.toSorted((a, b) => {
		const [one, other] = [placeOf(a), placeOf(b)];
		return one === other ? 0 : one - other;
	});
}

/** A program and how it was judged. */
export interface JudgedProgram {
	readonly facts: ProgramFacts;
	readonly status: ProgramStatus;
}

/** Judges all programs together. @param ended how programs ended that are worth a word: after all those that live. */
export function statusOf(
	programs: readonly JudgedProgram[],
	ended: readonly ProgramStatus[] = [],
): Status {
	const statuses = [...programs.map(({ status }) => status), ...ended];
	const remarks = statuses.flatMap(({ remarks }) => remarks).toSorted(byWorst);
	const level =
		WORST_FIRST.find((each) =>
			statuses.some((status) => status.level === each),
		) ?? "fine";
	const [worst] = remarks.filter((remark) => remark.level === level);
	if (level === "trouble" && worst !== undefined) {
		const more = remarks.filter(
			(each) => each.level === "trouble" && each !== worst,
		);
		return {
			...{ level, remark: worst },
			text: `${said(worst)}${alsoText(worst, more)}`,
		};
	}
	const summary = summaryOf(programs);
	return {
		...{ level, remark: worst },
		text: worst === undefined ? summary : `${summary} ${said(worst)}`,
	};
}

/** So many further troubles are named in the first line. */
const MOST_NAMED = 5;

/** Names further troubles, each once, with their program unless all are of one; of the least ones only what they are. */
function alsoText(worst: Remark, others: readonly Remark[]): string {
	const isOne = others.every(({ subject }) => subject === worst.subject);
	const names = new Map<string, string>();
	for (const { pool, subject, words } of others) {
		const of = pool === null ? subject : `${subject}, ${pool}`;
		const name = isOne ? (pool ?? subject) : of;
		names.set(plainText(`${name}: ${words}`), words);
	}
	if (names.size === 0) return "";
	const separator = isOne ? ", " : "; ";
	const named = [...names.keys()].slice(0, MOST_NAMED).join(separator);
	const counts = [
		...Map.groupBy([...names.values()].slice(MOST_NAMED), (words) => words),
	].map(([words, all]) => `${all.length} ${words}`);
	const more = names.size - MOST_NAMED;
	const rest =
		more > 0 ? `${separator}and ${more} more (${counts.join(", ")})` : "";
	return ` Also: ${named}${rest}.`;
}

/** A remark and its remedy, as one line. */
function said(remark: Remark): string {
	const { program, pool, text } = remark;
	if (program === null) return saidOfPool(remark);
	// What is about a run only is a sentence by itself.
	const joint = pool !== null ? ", " : /^[a-z]/.test(text) ? " " : ": ";
	return plainText(`${program}${joint}${saidOfPool(remark)}`);
}

/** The same where the program is named already. */
function saidOfPool({ text, remedy }: Remark): string {
	return plainText(remedy === null ? text : `${text} ${remedy}`);
}

/** A line below a pool. */
export interface Note {
	readonly level: StatusLevel;
	readonly text: string;
	/** What it says; `undefined` for the last error. */
	readonly remark: Remark | undefined;
}

/** What is to be said about a whole program. */
export function programNotes({ remarks }: ProgramStatus): readonly Note[] {
	return remarks
		.filter(({ pool }) => pool === null)
		.map((remark) => ({ level: remark.level, text: said(remark), remark }));
}

/** What is to be said about a pool, and its last error unless that has been said with it. */
export function poolNotes(
	{ remarks, snapshot, level }: PoolStatus,
	nowMs: number,
): readonly Note[] {
	const notes = remarks.map((remark) => ({
		...{ level: remark.level, text: saidOfPool(remark), remark },
	}));
	const { lastFailure, starts } = snapshot;
	if (lastFailure === null) return notes;
	if (remarks.some(({ text }) => text.includes(lastFailure.cause)))
		return notes;
	const { spent, max, windowMs } = starts.budget;
	const budget =
		spent === 0 ? "" : `; ${spent} of ${max} restarts in ${duration(windowMs)}`;
	const { wallMs, cause } = lastFailure;
	const text = plainText(
		`Last error, ${duration(nowMs - wallMs)} ago: ${cause}${budget}`,
	);
	return [...notes, { level, text, remark: undefined }];
}

function summaryOf(programs: readonly JudgedProgram[]): string {
	const living = programs.filter(({ facts }) => facts.kind === "living");
	if (living.length === 0) return "No program of yours has an open run here.";
	const pools = living.flatMap(({ status }) => status.pools);
	const sum = (of: (pool: PoolStatus) => number): number =>
		pools.reduce((all, pool) => all + of(pool), 0);
	const waiting = sum(({ snapshot }) => snapshot.queue.waiting);
	const run = counted(living.length, "program runs", "programs run");
	const calls =
		waiting === 0
			? "no call waits"
			: counted(waiting, "call waits", "calls wait");
	const isSeen = living.some(
		({ facts }) => facts.kind === "living" && facts.view.kind === "seen",
	);
	return isSeen
		? `${run} with ${counted(pools.length, "pool")}: ${counted(
				sum(({ ready }) => ready),
				"worker",
			)} ready, ${sum(({ busy }) => busy)} busy; ${calls}.`
		: `${run}.`;
}
