/** Flags that several commands have. */
export const DATA_DIR: [flags: string, description: string] = [
	"--data-dir <path>",
	"where the ledger is; the user's state directory by default",
];
export const JSON_FLAG: [flags: string, description: string] = [
	"--json",
	"print JSON",
];
