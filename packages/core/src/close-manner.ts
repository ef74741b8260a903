/** Whether processes are asked to end, or killed at once. */
export type CloseManner = "gentle" | "forced";

/**
 * What comes after everything of a program was closed: the program dies of a
 * signal, or it goes on. A program that dies does not see calls and jobs fail on the
 * way: an uncaught error would end it first, with the wrong exit code.
 */
export type Afterwards = "dies" | "goes_on";
