#!/bin/sh
# A worker that knows nothing of Snakepit and minds neither SIGTERM nor the end
# of its input. It connects through a helper of its own.
trap '' TERM
here=$(dirname "$0")
"$CHAOS_PYTHON" "$here/stays.py" worker &
printf "> "
while read -r word; do
	case $word in
	leave) "$CHAOS_PYTHON" "$here/descendants.py" child ignores-sigterm daemon forgotten ;;
	esac
	printf "%s\n> " "$word"
done
while :; do sleep 1000; done
