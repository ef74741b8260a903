import { HEADER_BYTES } from "../../src/channel/message-cutter.ts";

/** The header of a message of `length` bytes. */
export function messageHeader(kind: number, length: number): Buffer {
	const header = Buffer.alloc(HEADER_BYTES);
	header[0] = kind;
	header.writeUInt32BE(length, 1);
	return header;
}
