#!/bin/sh
# Only SIGKILL ends it.
trap '' TERM
echo up
while :; do sleep 100000; done
