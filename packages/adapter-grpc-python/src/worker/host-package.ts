import { VERSION } from "../gen/version.ts";

/** The bridge protocols that this package speaks, both included. */
export const PROTOCOL = { min: 1, max: 1 } as const;

/** Name and version of this package, for messages on the other side. */
export const HOST_PACKAGE: string = `@snakepit/adapter-grpc-python ${VERSION}`;
