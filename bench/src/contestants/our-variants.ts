import type { PythonGrpcOptions } from "@snakepit/adapter-grpc-python";

/** One way to use the Python adapter: a row of ours in every case that compares ours. */
export interface OurVariant {
	readonly name: string;
	readonly options: Partial<PythonGrpcOptions>;
}

export const ourVariants: readonly OurVariant[] = [
	{ name: "gRPC", options: {} },
	{ name: "framed", options: { transport: "framed" } },
];

/** For the cases that start workers. */
export const startVariants: readonly OurVariant[] = [
	...ourVariants,
	{
		name: "framed, not preloaded",
		options: { transport: "framed", preload: "off" },
	},
	{ name: "gRPC, preloaded", options: { preload: "tools" } },
	{
		name: "framed, preloaded",
		options: { transport: "framed", preload: "tools" },
	},
];
