#!/bin/sh
# Has a child in its own group, and waits for it.
sleep 100000 &
echo up
wait
