import { isArrayBuffer, isDate, isUint8Array } from "node:util/types";
import type { AttachmentSink } from "../shared-memory/attachment.ts";
import { bytesOfTable, isArrow } from "./arrow-table.ts";
import { dtypeOf } from "./dtype.ts";
import {
	EXTENSION,
	FIRST_INSTANT_MS,
	LAST_INSTANT_MS,
} from "./extension-types.ts";
import { Float } from "./float.ts";
import { Handle } from "./handle.ts";
import { EXTENSION_GUESS, type ImageWriter } from "./image-writer.ts";
import { encodeDateTime } from "./moments.ts";
import { NdArray } from "./nd-array.ts";
import { describe, NoImage } from "./no-image.ts";
import { PlainDate, PlainDateTime } from "./plain-date.ts";

// Functions, not a class: an encoder is created for each value and needs no second object.

export function encodeNumber(writer: ImageWriter, value: number): void {
	if (Number.isSafeInteger(value) && !Object.is(value, -0))
		writer.integer(value);
	else writer.float(value);
}

export function encodeBigInteger(writer: ImageWriter, value: bigint): void {
	if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER)
		writer.integer(Number(value));
	else if (value >= LEAST_LONG && value <= MOST_LONG) writer.longInteger(value);
	else {
		const bytes = bigIntegerBytes(value);
		writer.extension(EXTENSION.bigInteger, bytes.length, () =>
			writer.raw(bytes),
		);
	}
}

/**
 * Writes an object that contains no other values; returns false if the value is not one.
 *
 * @param attachment takes large parts; without it, everything is in the image.
 */
export function encodeLeaf(
	writer: ImageWriter,
	value: object,
	attachment: AttachmentSink | undefined,
): boolean {
	// Not `instanceof`: a value may be of another realm, as that of `node:vm`, in which Jest runs tests.
	if (isUint8Array(value)) encodeBinary(writer, value, attachment);
	else if (isArrayBuffer(value))
		encodeBinary(writer, new Uint8Array(value), attachment);
	else if (ArrayBuffer.isView(value)) {
		if (dtypeOf(value) === undefined) {
			throw new NoImage(
				`is ${describe(value)}, which cannot be sent to Python; send a Uint8Array or an NdArray`,
			);
		}
		encodeNdArray(writer, NdArray.from(value), attachment);
	} else if (isDate(value)) encodeInstant(writer, value);
	else if (value instanceof Float) writer.float(value.value);
	else if (value instanceof PlainDate)
		encodeText(writer, EXTENSION.date, value.toString());
	else if (value instanceof PlainDateTime) encodeDateTime(writer, value);
	else if (value instanceof NdArray) encodeNdArray(writer, value, attachment);
	else if (isArrow(value)) encodeTable(writer, value, attachment);
	else if (value instanceof Handle) encodeHandle(writer, value);
	else return false;
	return true;
}

function encodeHandle(writer: ImageWriter, { token, type }: Handle): void {
	writer.extension(EXTENSION.handle, EXTENSION_GUESS, () => {
		writer.arrayHeader(2);
		writer.binary(token);
		writer.text(type);
	});
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
		writeBytes(writer, bytes, offset);
	});
}

function encodeTable(
	writer: ImageWriter,
	value: object,
	attachment: AttachmentSink | undefined,
): void {
	const bytes = bytesOfTable(value);
	const offset = attachment?.take(bytes);
	const inside = offset === undefined ? bytes.byteLength : 0;
	writer.extension(EXTENSION.table, inside + EXTENSION_GUESS, () =>
		writeBytes(writer, bytes, offset),
	);
}

function encodeBinary(
	writer: ImageWriter,
	bytes: Uint8Array,
	attachment: AttachmentSink | undefined,
): void {
	writeBytes(writer, bytes, attachment?.take(bytes));
}

/** @param offset where they are in the attachment; `undefined` writes them into the image. */
function writeBytes(
	writer: ImageWriter,
	bytes: Uint8Array,
	offset: number | undefined,
): void {
	if (offset === undefined) {
		writer.binary(bytes);
		return;
	}
	writer.extension(EXTENSION.attached, EXTENSION_GUESS, () => {
		writer.arrayHeader(2);
		writer.integer(offset);
		writer.integer(bytes.byteLength);
	});
}

function encodeInstant(writer: ImageWriter, value: Date): void {
	const ms = value.getTime();
	if (Number.isNaN(ms))
		throw new NoImage("is an invalid Date; send null instead");
	if (ms < FIRST_INSTANT_MS || ms > LAST_INSTANT_MS) {
		throw new NoImage(
			`is ${value.toISOString()}, which is outside the years 1 to 9999 of Python's datetime`,
		);
	}
	const seconds = Math.floor(ms / 1000);
	writer.timestamp(seconds, (ms - seconds * 1000) * 1_000_000);
}

/** Writes ASCII text as the content of an extension. */
function encodeText(writer: ImageWriter, type: number, text: string): void {
	const bytes = Buffer.from(text, "latin1");
	writer.extension(type, bytes.length, () => writer.raw(bytes));
}

/** The range of MessagePack's own integers. */
const LEAST_LONG = -(2n ** 63n);
const MOST_LONG = 2n ** 64n - 1n;

/** Returns the shortest two's complement, big-endian. */
function bigIntegerBytes(value: bigint): Uint8Array {
	// A negative number has as many bits as its complement; one more is for the sign.
	const bits = (value < 0n ? ~value : value).toString(2).length + 1;
	const size = Math.ceil(bits / 8);
	const hex = BigInt.asUintN(size * 8, value).toString(16);
	return Buffer.from(hex.padStart(size * 2, "0"), "hex");
}
