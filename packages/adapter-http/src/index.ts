export { HttpStatusError } from "./failures.ts";
export { http } from "./http-adapter.ts";
export type { HttpClient } from "./http-client.ts";
export type { HttpOptions, PrintedLine } from "./options.ts";
export type { BodyKind } from "./result.ts";
export type { ServerSentEvent } from "./server-sent-events.ts";
export type { HttpStartErrorCode } from "./start-error-codes.ts";
