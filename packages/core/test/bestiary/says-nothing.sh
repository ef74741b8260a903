#!/bin/sh
# Does nothing for ever, and writes nothing: a pipe that nobody reads does not end it.
exec sleep 100000
