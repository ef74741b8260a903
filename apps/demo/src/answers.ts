/** Counts, for each image, how often it was answered. */
export class Answers {
	readonly #times: Uint32Array;
	#given = 0;
	#right = 0;

	constructor(images: number) {
		this.#times = new Uint32Array(images);
	}

	/** One answer for the image at `index`. */
	add(index: number, isRight: boolean): void {
		const before = this.#times[index];
		if (before === undefined)
			throw new RangeError(`There is no image ${index}.`);
		this.#times[index] = before + 1;
		this.#given++;
		if (isRight) this.#right++;
	}

	get images(): number {
		return this.#times.length;
	}
	get given(): number {
		return this.#given;
	}
	get right(): number {
		return this.#right;
	}
	/** How many images were answered exactly once. */
	get once(): number {
		return this.#times.reduce((sum, times) => sum + Number(times === 1), 0);
	}
}
