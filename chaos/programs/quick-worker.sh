#!/bin/sh
# Answers and stays; as little of a process as there can be.
echo up
while read -r word; do echo "$word"; done
