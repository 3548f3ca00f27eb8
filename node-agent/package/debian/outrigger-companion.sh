#!/bin/sh
# Chromium has no sandbox as root, and ends before anybody could say so; commands need none, and the app refuses its window.
here=$(dirname "$(readlink -f "$0")")
if [ "$(id -u)" = 0 ]; then
  for word; do
    [ "$word" != --no-sandbox ] || exec "$here/../lib/outrigger-companion/outrigger-companion" "$@"
  done
  exec "$here/../lib/outrigger-companion/outrigger-companion" --no-sandbox --as-root "$@"
fi
exec "$here/../lib/outrigger-companion/outrigger-companion" "$@"
