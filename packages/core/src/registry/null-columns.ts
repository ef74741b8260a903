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
