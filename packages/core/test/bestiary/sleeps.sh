#!/bin/sh
# Says that it is up, and does nothing for ever.
echo up
exec sleep 100000
