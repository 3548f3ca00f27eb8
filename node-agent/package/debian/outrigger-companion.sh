#!/bin/sh
# As root, Chromium has no sandbox and aborts before the app can report it. So the sandbox is switched off: commands do
# not need it, and the app refuses to open its window.
here=$(dirname "$(readlink -f "$0")")
if [ "$(id -u)" = 0 ]; then
  for word; do
    [ "$word" != --no-sandbox ] || exec "$here/../lib/outrigger-companion/outrigger-companion" "$@"
  done
  exec "$here/../lib/outrigger-companion/outrigger-companion" --no-sandbox --as-root "$@"
fi
exec "$here/../lib/outrigger-companion/outrigger-companion" "$@"
