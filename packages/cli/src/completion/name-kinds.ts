/** What living programs have names of. */
export const NAME_KINDS = [
	"runs",
	"dead-runs",
	"pools",
	"workers",
	"tools",
] as const;

export type NameKind = (typeof NAME_KINDS)[number];
