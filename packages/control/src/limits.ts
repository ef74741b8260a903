// Everything from outside has a limit. The numbers are part of README.md.

/** A request has at most so many bytes of body. */
export const BODY_BYTES: number = 1 << 20;
/** A request has to be complete within this time, in milliseconds, or its connection is ended. */
export const REQUEST_MS = 10_000;
/** A connection without a request is ended after this time, in milliseconds. */
export const IDLE_MS = 60_000;
/** So many connections at once. */
export const CONNECTIONS = 16;
/** So many streams of events and of logs at once. */
export const STREAMS = 8;
/** The state is read, and sent to streams, once in so many milliseconds. */
export const TICK_MS = 500;
/** The process table is read at most once in so many milliseconds, */
export const USAGE_MS = 2_000;
/** and so seldom that it takes at most one part in so many of the time: with many processes a reading takes 30 ms. */
export const USAGE_SHARE = 400;
/** So many calls that succeeded are sent between two ticks; the others are counted. */
export const CALLS_A_TICK = 10;
/** So many commands of a pool are counted apart; the others are counted as one, `OTHER_COMMANDS`. */
export const COMMANDS = 200;
export const OTHER_COMMANDS = "(other commands)";
/** What waits for a slow client: so many events or lines, and so many characters. */
export const PENDING_RECORDS = 2_000;
export const PENDING_CHARACTERS: number = 1 << 20;
/** Events and lines are written together once in so many milliseconds. */
export const FLUSH_MS = 50;
/** Who asked, and other short texts from outside. */
export const NAME_CHARACTERS = 200;
