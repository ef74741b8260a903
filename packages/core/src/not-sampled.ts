/**
 * Marks headers of a trace that is not recorded: a `traceparent` alone, with ids that are new each time it is read. An
 * adapter may send that in a bit, where its worker can make ids itself if they are asked for. Not enumerable: headers
 * that are made of these and others are usual ones.
 */
export const NOT_SAMPLED: unique symbol = Symbol.for("snakepit.not-sampled");
