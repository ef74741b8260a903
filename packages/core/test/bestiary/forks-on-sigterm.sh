#!/bin/sh
# Answers SIGTERM with one child more, which has the same group and ignores SIGTERM.
trap 'trap "" TERM; sleep 100000 & exit 0' TERM
echo up
while :; do sleep 0.05; done
