#!/bin/sh
# Ends at once and leaves a child in its group that holds its output open.
sleep 100000 &
echo up
