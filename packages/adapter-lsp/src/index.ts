export type { LspDocuments } from "./documents.ts";
export { type LspAdapter, lsp } from "./lsp-adapter.ts";
export type { LspHandler, LspOptions } from "./options.ts";
export type { LspPart } from "./parts.ts";
export type { LspRequests } from "./requests.ts";
