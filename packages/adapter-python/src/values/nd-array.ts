import { endianness } from "node:os";
import { isUint8Array } from "node:util/types";
import { brandAs } from "@snakepit/core/adapter";

/** The element types of an {@link NdArray}, as numpy names them. */
export type DType =
	| "bool"
	| "int8"
	| "int16"
	| "int32"
	| "int64"
	| "uint8"
	| "uint16"
	| "uint32"
	| "uint64"
	| "float16"
	| "float32"
	| "float64"
	| "complex64"
	| "complex128"
	| TimeDType;

/** Times and durations, as whole numbers of a unit; a missing one (NaT) is the smallest `bigint`. */
type TimeDType =
	`${"datetime64" | "timedelta64"}[${"D" | "h" | "m" | "s" | "ms" | "us" | "ns"}]`;

/** How the elements of each dtype are stored: complex numbers as pairs of real and imaginary part, `float16` as its bits. */
export interface DTypeData extends Readonly<Record<TimeDType, BigInt64Array>> {
	readonly bool: Uint8Array;
	readonly int8: Int8Array;
	readonly int16: Int16Array;
	readonly int32: Int32Array;
	readonly int64: BigInt64Array;
	readonly uint8: Uint8Array;
	readonly uint16: Uint16Array;
	readonly uint32: Uint32Array;
	readonly uint64: BigUint64Array;
	readonly float16: Uint16Array;
	readonly float32: Float32Array;
	readonly float64: Float64Array;
	readonly complex64: Float32Array;
	readonly complex128: Float64Array;
}

/** The dtype of a typed array, `uint8` for bytes; any dtype where the type does not determine it. */
export type DTypeOf<View extends ArrayBufferView> = View extends {
	readonly [Symbol.toStringTag]: infer Tag;
}
	? Tag extends `Big${infer Name}Array`
		? Extract<Lowercase<Name>, DType>
		: Tag extends `${infer Name}Array`
			? Extract<Lowercase<Name>, DType>
			: DType
	: DType;

interface DTypeLayout {
	/** Bytes of one element. */
	readonly size: number;
	readonly view: new (
		buffer: ArrayBufferLike,
		byteOffset: number,
		length: number,
	) => DTypeData[DType];
	/** Items of the view in one element. */
	readonly parts: 1 | 2;
}

const TIME: DTypeLayout = { size: 8, view: BigInt64Array, parts: 1 };

export const DTYPES: Readonly<Record<DType, DTypeLayout>> = {
	bool: { size: 1, view: Uint8Array, parts: 1 },
	int8: { size: 1, view: Int8Array, parts: 1 },
	int16: { size: 2, view: Int16Array, parts: 1 },
	int32: { size: 4, view: Int32Array, parts: 1 },
	int64: { size: 8, view: BigInt64Array, parts: 1 },
	uint8: { size: 1, view: Uint8Array, parts: 1 },
	uint16: { size: 2, view: Uint16Array, parts: 1 },
	uint32: { size: 4, view: Uint32Array, parts: 1 },
	uint64: { size: 8, view: BigUint64Array, parts: 1 },
	float16: { size: 2, view: Uint16Array, parts: 1 },
	float32: { size: 4, view: Float32Array, parts: 1 },
	float64: { size: 8, view: Float64Array, parts: 1 },
	complex64: { size: 8, view: Float32Array, parts: 2 },
	complex128: { size: 16, view: Float64Array, parts: 2 },
	"datetime64[D]": TIME,
	"datetime64[h]": TIME,
	"datetime64[m]": TIME,
	"datetime64[s]": TIME,
	"datetime64[ms]": TIME,
	"datetime64[us]": TIME,
	"datetime64[ns]": TIME,
	"timedelta64[D]": TIME,
	"timedelta64[h]": TIME,
	"timedelta64[m]": TIME,
	"timedelta64[s]": TIME,
	"timedelta64[ms]": TIME,
	"timedelta64[us]": TIME,
	"timedelta64[ns]": TIME,
};

export function isDType(name: string): name is DType {
	return Object.hasOwn(DTYPES, name);
}

/** The dtype of a typed array when it is sent; `undefined` for types that are not sent as arrays (`Uint8Array` is bytes). */
export function dtypeOf(array: ArrayBufferView): DType | undefined {
	const tag = (array as { [Symbol.toStringTag]?: string })[Symbol.toStringTag];
	// "BigInt64Array" is "int64".
	const name = (tag ?? "").replace(/^Big|Array$/g, "").toLowerCase();
	return isDType(name) && name !== "uint8" ? name : undefined;
}

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
			// Not checked by a compiler in JavaScript: it may be the elements themselves.
			const name: unknown = dtype;
			const subject =
				typeof name === "string"
					? JSON.stringify(name.slice(0, 40))
					: `a value of type ${typeof name}`;
			throw new RangeError(
				`new NdArray(dtype, shape, data): the dtype is ${subject}; known: ${Object.keys(DTYPES).join(", ")}`,
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
