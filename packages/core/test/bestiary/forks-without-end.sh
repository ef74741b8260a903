#!/bin/sh
# Always one more child in its group: half of them ignore SIGTERM. Stops by itself at 2,000.
trap '' TERM
echo up
n=0
while [ $n -lt 2000 ]; do
	sleep 100000 &
	n=$((n + 1))
	[ $((n % 20)) -eq 0 ] && sleep 0.05
done
wait
