// Everything from outside has a limit. The numbers are part of README.md.

/** The largest body of a request, in bytes. */
export const BODY_BYTES: number = 1 << 20;
/** A request must be complete within this time, in milliseconds; otherwise its connection is closed. */
export const REQUEST_MS = 10_000;
/** A connection without a request is closed after this time, in milliseconds. */
export const IDLE_MS = 60_000;
/** The most connections at one time. */
export const CONNECTIONS = 16;
/** The most streams of events and of logs at one time. */
export const STREAMS = 8;
/** How often the state is read and sent to streams, in milliseconds. */
export const TICK_MS = 500;
/** The shortest time between two readings of the process table, in milliseconds, */
export const USAGE_MS = 2_000;
/** and the share of the time that they may take, as a divisor: with many processes, a reading takes 30 ms. */
export const USAGE_SHARE = 400;
/** The most calls that succeeded and are sent between two ticks; the others are only counted. */
export const CALLS_A_TICK = 10;
/** The most commands of a pool that are counted separately; the others are counted together, as `OTHER_COMMANDS`. */
export const COMMANDS = 200;
export const OTHER_COMMANDS = "(other commands)";
/** The most that waits for a slow client: events or lines, and characters. */
export const PENDING_RECORDS = 2_000;
export const PENDING_CHARACTERS: number = 1 << 20;
/** How often events and lines are written, in milliseconds; each time, all that are pending. */
export const FLUSH_MS = 50;
/** The longest name of a client, and other short texts from outside, in characters. */
export const NAME_CHARACTERS = 200;
