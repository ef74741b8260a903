import type { AttachmentSink } from "../shared-memory/attachment.ts";
import { bigIntegerBytes, fitsLong } from "./big-integer.ts";
import { dtypeOf } from "./dtype.ts";
import {
	EXTENSION,
	FIRST_INSTANT_MS,
	LAST_INSTANT_MS,
} from "./extension-types.ts";
import { Float } from "./float.ts";
import { EXTENSION_GUESS, type ImageWriter } from "./image-writer.ts";
import { NdArray } from "./nd-array.ts";
import { describe, NoImage } from "./no-image.ts";
import { PlainDate } from "./plain-date.ts";
import { PlainDateTime } from "./plain-date-time.ts";

// Functions and no class: an encoder is made for each value that crosses, and needs no second object.

export function encodeNumber(writer: ImageWriter, value: number): void {
	if (Number.isSafeInteger(value) && !Object.is(value, -0))
		writer.integer(value);
	else writer.float(value);
}

export function encodeBigInteger(writer: ImageWriter, value: bigint): void {
	if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER)
		writer.integer(Number(value));
	else if (fitsLong(value)) writer.longInteger(value);
	else {
		const bytes = bigIntegerBytes(value);
		writer.extension(EXTENSION.bigInteger, bytes.length, () =>
			writer.raw(bytes),
		);
	}
}

/**
 * Writes an object that holds no other values; false when it is none of those.
 *
 * @param attachment takes large parts; without it everything is in the image.
 */
export function encodeLeaf(
	writer: ImageWriter,
	value: object,
	attachment: AttachmentSink | undefined,
): boolean {
	if (ArrayBuffer.isView(value)) encodeView(writer, value, attachment);
	else if (value instanceof ArrayBuffer)
		encodeBinary(writer, new Uint8Array(value), attachment);
	else if (value instanceof Date) encodeInstant(writer, value);
	else if (value instanceof Float) writer.float(value.value);
	else if (value instanceof PlainDate)
		encodeText(writer, EXTENSION.date, value.toString());
	else if (value instanceof PlainDateTime)
		encodeText(writer, EXTENSION.dateTime, value.toString());
	else if (value instanceof NdArray) encodeNdArray(writer, value, attachment);
	else return false;
	return true;
}

function encodeView(
	writer: ImageWriter,
	value: ArrayBufferView,
	attachment: AttachmentSink | undefined,
): void {
	if (value instanceof Uint8Array) encodeBinary(writer, value, attachment);
	else if (dtypeOf(value) !== undefined)
		encodeNdArray(writer, NdArray.from(value), attachment);
	else
		throw new NoImage(
			`is ${describe(value)}, which has no image; send a Uint8Array or an NdArray`,
		);
}

function encodeNdArray(
	writer: ImageWriter,
	value: NdArray,
	attachment: AttachmentSink | undefined,
): void {
	const bytes = value.bytes();
	const offset = attachment?.take(bytes);
	const inside = offset === undefined ? bytes.byteLength : 0;
	writer.extension(EXTENSION.ndArray, inside + EXTENSION_GUESS, () => {
		writer.arrayHeader(3);
		writer.text(value.dtype);
		writer.arrayHeader(value.shape.length);
		for (const extent of value.shape) writer.integer(extent);
		if (offset === undefined) writer.binary(bytes);
		else encodeAttached(writer, offset, bytes.byteLength);
	});
}

function encodeBinary(
	writer: ImageWriter,
	bytes: Uint8Array,
	attachment: AttachmentSink | undefined,
): void {
	const offset = attachment?.take(bytes);
	if (offset === undefined) writer.binary(bytes);
	else encodeAttached(writer, offset, bytes.byteLength);
}

function encodeAttached(
	writer: ImageWriter,
	offset: number,
	size: number,
): void {
	writer.extension(EXTENSION.attached, EXTENSION_GUESS, () => {
		writer.arrayHeader(2);
		writer.integer(offset);
		writer.integer(size);
	});
}

function encodeInstant(writer: ImageWriter, value: Date): void {
	const ms = value.getTime();
	if (Number.isNaN(ms))
		throw new NoImage(
			"is an invalid Date; send null where there is no instant",
		);
	if (ms < FIRST_INSTANT_MS || ms > LAST_INSTANT_MS) {
		throw new NoImage(
			`is ${value.toISOString()}, and Python's datetime has the years 1 to 9999`,
		);
	}
	const bytes = Buffer.allocUnsafe(8);
	bytes.writeBigInt64BE(BigInt(ms) * 1000n);
	writer.extension(EXTENSION.instant, bytes.length, () => writer.raw(bytes));
}

/** Text inside an extension. */
function encodeText(writer: ImageWriter, type: number, text: string): void {
	const bytes = Buffer.from(text, "latin1");
	writer.extension(type, bytes.length, () => writer.raw(bytes));
}
