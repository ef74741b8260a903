/** 128 and the number of SIGPIPE, by which other programs end then: Node ignores it. */
const READER_GONE = 141;

/** Ends a command whose standard output cannot be written any more: without a word where only its reader has gone, as `head`. */
export function outputFailed({ code, message }: NodeJS.ErrnoException): never {
	if (code === "EPIPE") process.exit(READER_GONE);
	process.stderr.write(`snakepit: ${message}\n`);
	process.exit(1);
}
