#!/bin/bash
# Installs what the tests of this folder need, once: Slack's own clients, the TypeScript compiler and a driver for the
# browser, in the versions of package-lock.json; and Node and Chromium where Debian's are missing.
#
#   integration/slack/prepare.sh
#
# Needs the network the first time and after package-lock.json changed; root only where Node or Chromium are missing.
set -euo pipefail
cd "$(dirname "$0")"

need=()
command -v node >/dev/null || need+=(nodejs)
command -v npm >/dev/null || need+=(npm)
command -v chromium >/dev/null || need+=(chromium fonts-dejavu-core)
[ -e /usr/share/fonts/truetype/noto/NotoColorEmoji.ttf ] || need+=(fonts-noto-color-emoji) # pictures of threads need it
if [ ${#need[@]} -gt 0 ]; then
	echo "installing: ${need[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update </dev/null >/dev/null
	apt-get install -y --no-install-recommends "${need[@]}" </dev/null >/dev/null
fi

[ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ] ||
	{ echo "Slack's clients need Node 20 or newer, as Debian 13 has it; this is $(node --version)" >&2; exit 1; }

if cmp -s package-lock.json node_modules/.prepared; then
	echo "Slack's clients are there"
	exit
fi
# Nothing of these packages runs while it is installed.
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null
cp package-lock.json node_modules/.prepared
echo "Slack's clients are there: $(node -p "Object.entries(require('./package.json').dependencies).map(([n, v]) => n + ' ' + v).join(', ')")"
