import { endianness } from "node:os";
import { isUint8Array } from "node:util/types";
import { brandAs } from "@snakepit/core/adapter";

import {
	DTYPES,
	type DType,
	type DTypeData,
	type DTypeOf,
	dtypeOf,
	isDType,
} from "./dtype.ts";

/** As many as numpy allows. */
const MAX_DIMENSIONS = 64;

/** An array of numbers in C order: `numpy.ndarray`. Knows its dtype and shape, and does no arithmetic. */
export class NdArray<D extends DType = DType> {
	static {
		brandAs(NdArray, "value.NdArray");
	}

	/** For the compiler only: an object that merely has the same properties is not an `NdArray`. */
	declare protected readonly brand: "NdArray";
	readonly dtype: D;
	/** Empty for an array of zero dimensions, which has one element. */
	readonly shape: readonly number[];
	/** The elements in C order, as this machine stores them: a typed array that fits the dtype. */
	readonly data: DTypeData[D];

	/**
	 * Uses the elements as they are, without a copy where alignment allows.
	 *
	 * @throws RangeError when the number of elements does not fit the shape.
	 */
	constructor(
		dtype: D,
		shape: readonly number[],
		data: ArrayBufferView | ArrayBuffer,
	) {
		if (!isDType(dtype)) {
			throw new RangeError(
				`unknown dtype ${JSON.stringify(dtype)}; known: ${Object.keys(DTYPES).join(", ")}`,
			);
		}
		const layout = DTYPES[dtype];
		const bytes = asBytes(data);
		const elements = countElements(shape);
		if (bytes.byteLength !== elements * layout.size) {
			throw new RangeError(
				`shape [${shape.join(", ")}] of ${dtype} needs ${elements * layout.size} bytes, got ${bytes.byteLength}`,
			);
		}
		const alignment = layout.size / layout.parts;
		const aligned = bytes.byteOffset % alignment === 0 ? bytes : bytes.slice();
		this.dtype = dtype;
		this.shape = Object.freeze([...shape]);
		this.data = new layout.view(
			aligned.buffer,
			aligned.byteOffset,
			elements * layout.parts,
		) as DTypeData[D];
	}

	/** An array over a typed array; one-dimensional unless a shape is given. */
	static from<View extends ArrayBufferView>(
		data: View,
		shape?: readonly number[],
	): NdArray<DTypeOf<View>> {
		const dtype = dtypeOf(data) ?? (isUint8Array(data) ? "uint8" : undefined);
		if (dtype === undefined)
			throw new RangeError("NdArray.from needs a typed array");
		return new NdArray(
			dtype as DTypeOf<View>,
			shape ?? [data.byteLength / DTYPES[dtype].size],
			data,
		);
	}

	/** The number of elements. */
	get size(): number {
		return this.data.length / DTYPES[this.dtype].parts;
	}

	/** The elements as little-endian bytes, as they are sent. */
	bytes(): Uint8Array {
		return littleEndian(
			asBytes(this.data),
			DTYPES[this.dtype].size / DTYPES[this.dtype].parts,
		);
	}
}

/** @throws RangeError when it is not a shape. */
function countElements(shape: readonly number[]): number {
	if (shape.length > MAX_DIMENSIONS) {
		throw new RangeError(
			`an array has at most ${MAX_DIMENSIONS} dimensions, got ${shape.length}`,
		);
	}
	let elements = 1;
	for (const extent of shape) {
		if (!Number.isSafeInteger(extent) || extent < 0) {
			throw new RangeError(
				`a shape must be whole numbers from 0, got [${shape.join(", ")}]`,
			);
		}
		elements *= extent;
	}
	return elements;
}

function asBytes(data: ArrayBufferView | ArrayBuffer): Uint8Array {
	return ArrayBuffer.isView(data)
		? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
		: new Uint8Array(data);
}

const isBigEndian = endianness() === "BE";

/**
 * Turns numbers between this machine's byte order and little-endian; its own inverse.
 * Returns the bytes themselves where there is nothing to do.
 */
export function littleEndian(bytes: Uint8Array, size: number): Uint8Array {
	return isBigEndian && size > 1 ? reversedBySize(bytes, size) : bytes;
}

/** Returns a copy in which each group of `size` bytes is reversed. */
export function reversedBySize(bytes: Uint8Array, size: number): Uint8Array {
	const copy = new Uint8Array(bytes.byteLength);
	for (let start = 0; start < bytes.byteLength; start += size)
		copy.set(bytes.slice(start, start + size).reverse(), start);
	return copy;
}
