#!/bin/sh
# A worker that is only there: one process, which no SIGTERM ends.
trap '' TERM
echo up
exec sleep 1000
