import type {
	WorkDoneProgressBegin,
	WorkDoneProgressEnd,
	WorkDoneProgressReport,
} from "vscode-languageserver-protocol/node";

/** What a server reports of a request before its answer: a part of the result, or how far it is. */
export type LspPart =
	| { readonly kind: "result"; readonly value: unknown }
	| {
			readonly kind: "progress";
			readonly value:
				| WorkDoneProgressBegin
				| WorkDoneProgressReport
				| WorkDoneProgressEnd;
	  };
