/** A virtual environment that has all its requirements. */
export interface PythonEnvironment {
	/** Its interpreter. */
	readonly python: string;
	readonly directory: string;
	/** Names its requirements and its Python: the same for whoever asks for the same. */
	readonly key: string;
}
