#!/bin/sh
# A worker that is only there: one process, which no SIGTERM ends.
trap '' TERM
printf "> "
exec sleep 1000
