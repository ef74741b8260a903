// Writes 50 MB without a line break, says on standard error when that was read, and waits.
const chunk = Buffer.alloc(2 ** 20, "x");
let left = 50;
function more() {
	if (left-- > 0) process.stdout.write(chunk, more);
	else console.error("flooded");
}
more();
setInterval(() => {}, 1e9);
