/** 128 plus the number of SIGPIPE: the signal would end other programs here, but Node ignores it. */
const READER_GONE = 141;

/** Ends a command whose standard output cannot be written any more: without a message if only its reader has ended, such as `head`. */
export function outputFailed({ code, message }: NodeJS.ErrnoException): never {
	if (code === "EPIPE") process.exit(READER_GONE);
	process.stderr.write(`snakepit: ${message}\n`);
	process.exit(1);
}
