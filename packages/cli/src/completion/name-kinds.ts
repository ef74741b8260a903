/** The kinds of things whose names are completed. */
export const NAME_KINDS = [
	"runs",
	"dead-runs",
	"recorded-runs",
	"pools",
	"workers",
	"tools",
] as const;

export type NameKind = (typeof NAME_KINDS)[number];
