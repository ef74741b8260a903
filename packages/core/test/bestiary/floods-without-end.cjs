// Writes as much as anybody reads, for ever, without a line break.
const chunk = Buffer.alloc(2 ** 16, "x");
const more = () => void process.stdout.write(chunk, more);
more();
