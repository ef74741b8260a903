import type {
	EndReason,
	Killer,
	WorkerEnd,
} from "../contract/process-registry.ts";

/** How the end of a worker is kept; all null while it lives. */
export interface EndColumns {
	readonly exitCode: number | null;
	readonly exitSignal: NodeJS.Signals | null;
	readonly endReason: EndReason | null;
	readonly killer: Killer | null;
	readonly tail: readonly string[] | null;
	readonly lastCommand: string | null;
}

export function columnsOfEnd(end: WorkerEnd | undefined): EndColumns {
	const exit = end?.exit;
	return {
		exitCode: exit?.kind === "code" ? exit.code : null,
		exitSignal: exit?.kind === "signal" ? exit.signal : null,
		endReason: end?.reason ?? null,
		killer: end?.killer ?? null,
		tail: end?.tail ?? null,
		lastCommand: end?.lastCommand ?? null,
	};
}

export function endOf(columns: EndColumns): WorkerEnd | undefined {
	const { exitCode, exitSignal, endReason, killer, tail, lastCommand } =
		columns;
	if (endReason === null || killer === null) return undefined;
	const exit =
		exitCode !== null
			? ({ kind: "code", code: exitCode } as const)
			: exitSignal !== null
				? ({ kind: "signal", signal: exitSignal } as const)
				: undefined;
	return {
		...{ exit, reason: endReason, killer },
		tail: tail ?? undefined,
		lastCommand: lastCommand ?? undefined,
	};
}

/** A row with NULL where code has `undefined`. */
type WithNull<Row> = {
	[Name in keyof Row]: undefined extends Row[Name]
		? Exclude<Row[Name], undefined> | null
		: Row[Name];
};

/** A row with `undefined` where SQL has NULL. */
type WithUndefined<Row> = {
	[Name in keyof Row]: null extends Row[Name]
		? Exclude<Row[Name], null> | undefined
		: Row[Name];
};

export function undefinedToNull<Row extends object>(row: Row): WithNull<Row> {
	return mapValues(row, (value) => value ?? null) as WithNull<Row>;
}

export function nullToUndefined<Row extends object>(
	row: Row,
): WithUndefined<Row> {
	return mapValues(row, (value) => value ?? undefined) as WithUndefined<Row>;
}

function mapValues(row: object, map: (value: unknown) => unknown): object {
	return Object.fromEntries(
		Object.entries(row).map(([name, value]) => [name, map(value)]),
	);
}
