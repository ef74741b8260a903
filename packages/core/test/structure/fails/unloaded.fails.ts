// A file that fails before it has a test.
throw new Error("cannot be loaded");

export {};
