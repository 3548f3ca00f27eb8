#!/usr/bin/env bash
# Installs missing programs for the tests and the demo from the packages of the system: a browser, a virtual screen, ffmpeg,
# PulseAudio, Redis, PgBouncer, espeak-ng, Kamailio, rtpengine and sipp. It prints what it installs and why. It starts no
# services.
#
#   test/setup.sh           install missing programs (Debian or Ubuntu, as root), otherwise print the command
#   test/setup.sh --check   only report
set -euo pipefail

# program  Debian package  what it is for
wanted=(
  "chromium chromium the companion's browser"
  "chromium-headless-shell chromium-headless-shell a browser without windows, for the tests of pages"
  "Xvfb xvfb a virtual screen, to capture where there is none"
  "ffmpeg ffmpeg screen, camera and audio capture"
  "pulseaudio pulseaudio a virtual microphone for the audio tests"
  "pactl pulseaudio-utils lists microphones"
  "redis-server redis-server the Redis backend of the queue"
  "pgbouncer pgbouncer a connection pooler, which the hub refuses"
  "kamailio kamailio a carrier for own SIP trunks, and the SIP server of deploy/kamailio"
  "tls.so kamailio-tls-modules own SIP trunks by tls"
  "websocket.so kamailio-websocket-modules softphones at the SIP server of deploy/kamailio"
  "db_postgres.so kamailio-postgres-modules accounts of the SIP server of deploy/kamailio"
  "rtpengine rtpengine-daemon audio of calls, and what it is like"
  "sipp sip-tester a phone of another make, which softphones call"
  "xdpyinfo x11-utils tells the size of a screen"
  "xterm xterm something to see on the virtual screen"
  "espeak-ng espeak-ng speech of the AI agent that needs no key"
)

has() {
  case "$1" in
    chromium) command -v chromium || command -v google-chrome || command -v google-chrome-stable || command -v chromium-browser ;;
    *.so) compgen -G "/usr/lib/*/kamailio/modules/$1" ;;
    *) command -v "$1" ;;
  esac >/dev/null 2>&1
}

missing=()
for line in "${wanted[@]}"; do
  read -r program package reason <<<"$line"
  if ! has "$program"; then
    missing+=("$package")
    echo "missing: $program ($reason)"
  fi
done

if [ "${#missing[@]}" -eq 0 ]; then
  echo "tools: all there"
  exit 0
fi

if [ "${1:-}" = "--check" ]; then
  exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
  if [ "$(uname)" = "Darwin" ]; then
    echo "Tests that lack a tool are skipped. To get the tools: brew install ffmpeg redis espeak-ng && brew install --cask chromium"
  else
    echo "Tests that lack a tool are skipped. Get these with your package manager: ${missing[*]}"
  fi
  exit 0
fi

if [ "$(id -u)" -ne 0 ]; then
  echo "Tests that lack a tool are skipped. To get the tools: sudo apt-get install -y --no-install-recommends ${missing[*]} fonts-dejavu-core"
  exit 0
fi

echo "Installing from the system's packages: ${missing[*]} fonts-dejavu-core"
export DEBIAN_FRONTEND=noninteractive
# Packages must not start their services, because the tests start and stop their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" fonts-dejavu-core >/dev/null
echo "tools: installed"
