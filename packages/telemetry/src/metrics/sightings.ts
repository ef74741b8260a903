/** When something was last seen that must not be, as Unix time in seconds. */
export class Sightings {
	orphanSeconds: number | undefined;
	activationSeconds: number | undefined;

	orphan(): void {
		this.orphanSeconds = Date.now() / 1_000;
	}

	activation(): void {
		this.activationSeconds = Date.now() / 1_000;
	}
}
