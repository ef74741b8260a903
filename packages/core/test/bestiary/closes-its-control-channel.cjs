// Closes its control channel, and stays.
require("node:fs").closeSync(3);
setInterval(() => {}, 1e9);
