#!/bin/sh
# Answers and stays; as little of a process as there can be.
printf "> "
while read -r word; do printf "%s\n> " "$word"; done
