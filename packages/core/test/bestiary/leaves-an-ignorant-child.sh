#!/bin/sh
# Ends at once and leaves a child in its group whose environment is empty.
env -i sleep 100000 &
echo up
