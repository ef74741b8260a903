export type { HttpStartErrorCode } from "./failures.ts";
export { HttpStatusError } from "./failures.ts";
export { http } from "./http-adapter.ts";
export type { HttpClient } from "./http-client.ts";
export type { HttpOptions, PrintedLine } from "./options.ts";
export type { BodyKind, ServerSentEvent } from "./response.ts";
