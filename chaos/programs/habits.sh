#!/bin/sh
# A worker with one bad habit, named by CHAOS_HABIT.
case $CHAOS_HABIT in
exits-before-ready)
	echo "no module named torch" >&2
	exit 70
	;;
never-ready) exec sleep 100000 ;;
crashes-when-called)
	echo up
	read -r _
	exit 1
	;;
esac
