export type { LspPart } from "./conversation.ts";
export type { LspDocuments } from "./documents.ts";
export type { LspRequests } from "./lsp-adapter.ts";
export { type LspAdapter, lsp } from "./lsp-adapter.ts";
export type { LspHandler, LspOptions } from "./options.ts";
