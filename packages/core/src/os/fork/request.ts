/** What a process that forks takes; arguments and environment of one program have at most about 6 MiB on Linux. */
export const MAX_REQUEST_BYTES: number = 16 * 1024 * 1024;

/** What a process that forks can be asked. */
export type Request =
	| ({ readonly type: "start"; readonly id: number } & Start)
	/** `go`: it is recorded, let it run. `discard`: kill it and do not report it. `reap`: its end was recorded, free its pid. */
	| { readonly type: "go" | "discard" | "reap"; readonly id: number }
	/** Kill what is left, and exit. */
	| { readonly type: "end" };

/** A held worker with these descriptors. No text contains a NUL. */
export interface Start {
	/** Names the worker in what a guard records; empty for none. */
	readonly label: string;
	readonly executable: string;
	readonly args: readonly string[];
	/** NAME=VALUE, the name not empty. */
	readonly variables: readonly string[];
	readonly cwd: string;
	/** Those that are connections, from 0 to 7. */
	readonly descriptors: readonly number[];
}

const KINDS = { start: 1, go: 2, discard: 3, reap: 4, end: 5 } as const;
/** Kind, id, descriptors, and the numbers of arguments and variables. */
const START_BYTES = 1 + 4 + 1 + 4 + 4;

/**
 * Writes a request as a frame: four bytes of length, then that many bytes. It is simple enough for C to parse it
 * safely: the kind, the id, and with a start the bits of its descriptors, two counts, and strings that end with a NUL.
 *
 * @returns `undefined` when it is longer than is taken.
 */
export function encodeRequest(request: Request): Buffer | undefined {
	const kind = KINDS[request.type];
	if (request.type === "end") return frame(Buffer.from([kind]));
	if (request.type !== "start") {
		const body = Buffer.alloc(5, kind);
		body.writeUInt32BE(request.id, 1);
		return frame(body);
	}
	const { label, executable, cwd, args, variables, descriptors } = request;
	const head = Buffer.alloc(START_BYTES, kind);
	head.writeUInt32BE(request.id, 1);
	head.writeUInt8(bits(descriptors), 5);
	head.writeUInt32BE(args.length, 6);
	head.writeUInt32BE(variables.length, 10);
	const strings = [label, executable, cwd, ...args, ...variables];
	const text = strings.map((string) => `${string}\0`).join("");
	return frame(Buffer.concat([head, Buffer.from(text)]));
}

function bits(descriptors: readonly number[]): number {
	return descriptors.reduce((sum, number) => sum | (1 << number), 0);
}

function frame(body: Buffer): Buffer | undefined {
	if (body.length > MAX_REQUEST_BYTES) return undefined;
	const length = Buffer.alloc(4);
	length.writeUInt32BE(body.length);
	return Buffer.concat([length, body]);
}
