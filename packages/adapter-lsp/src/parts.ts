import type { CallProgress } from "@snakepit/core/adapter";
import type {
	WorkDoneProgressBegin,
	WorkDoneProgressEnd,
	WorkDoneProgressReport,
} from "vscode-languageserver-protocol/node";

/** The progress of a server with a request. */
export type WorkDone =
	| WorkDoneProgressBegin
	| WorkDoneProgressReport
	| WorkDoneProgressEnd;

/** The report of a server about a request before its answer: a part of the result, or progress. */
export type LspPart =
	| { readonly kind: "result"; readonly value: unknown }
	| { readonly kind: "progress"; readonly value: WorkDone };

const MOST_CHARACTERS = 1_000;

/** Reads the reports about one request, in their order, as callers of any adapter get them. */
export function progressReader(): (value: WorkDone) => CallProgress {
	let message = "";
	return (value) => {
		// A report without a message keeps the last message.
		message = value.message ?? (value.kind === "begin" ? value.title : message);
		const percentage = value.kind === "end" ? 100 : value.percentage;
		return {
			fraction:
				percentage === undefined
					? undefined
					: Math.min(Math.max(percentage / 100, 0), 1),
			message: message.slice(0, MOST_CHARACTERS),
		};
	};
}
