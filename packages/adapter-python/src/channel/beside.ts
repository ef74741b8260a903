import { LENT_BYTES } from "./frame-channel.ts";

/** Data beside the frames has a name, an offset and a size before its bytes. */
const BESIDE_HEAD_BYTES = 64;
const OFFSET_AT = 24;
const SIZE_AT = 32;

/** A part of a file of the worker's attachments. */
export interface Place {
	readonly name: string;
	readonly offset: number;
	readonly size: number;
}

/** 64 bytes long, so that the following bytes are aligned for numbers of every size. */
export function besideHead({ name, offset, size }: Place): Buffer {
	const head = Buffer.alloc(BESIDE_HEAD_BYTES);
	head.write(name, "latin1");
	head.writeBigUInt64BE(BigInt(offset), OFFSET_AT);
	head.writeBigUInt64BE(BigInt(size), SIZE_AT);
	return head;
}

/** Reads a message beside the frames, from `begin` to `end`. @throws Error if it is not one. */
export function readBeside(
	message: Uint8Array,
	begin: number,
	end: number,
): { readonly place: Place; readonly bytes: Uint8Array } {
	if (end - begin < BESIDE_HEAD_BYTES)
		throw new Error(
			`${end - begin} bytes beside a frame, too few to name their place`,
		);
	const view = Buffer.from(message.buffer, message.byteOffset, end);
	const name = view.toString("latin1", begin, begin + OFFSET_AT);
	const bytes = message.subarray(begin + BESIDE_HEAD_BYTES, end);
	return {
		place: {
			name: name.replace(/\0+$/, ""),
			offset: Number(view.readBigUInt64BE(begin + OFFSET_AT)),
			size: Number(view.readBigUInt64BE(begin + SIZE_AT)),
		},
		bytes: end - begin > LENT_BYTES ? bytes : new Uint8Array(bytes),
	};
}
