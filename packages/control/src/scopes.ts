/** What a client may do: read the state and events, read what workers print, act on pools, make calls. */
export type ControlScope = "read" | "logs" | "act" | "call";

export const SCOPES: readonly ControlScope[] = ["read", "logs", "act", "call"];

/** The default: a client may read, and change nothing. */
export const DEFAULT_SCOPES: readonly ControlScope[] = ["read", "logs"];
