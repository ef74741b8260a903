#!/bin/sh
# Answers one line with 3,000,000 bytes, and ends.
read -r line
exec head -c 3000000 /dev/zero
