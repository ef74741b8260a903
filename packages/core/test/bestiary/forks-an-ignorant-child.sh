#!/bin/sh
# Has a child in its own group whose environment is empty, and waits for it.
env -i sleep 100000 &
echo up
wait
