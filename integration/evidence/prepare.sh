#!/bin/bash
# Installs the tools whose output is evidence, from Debian's packages. Starts nothing and enables nothing.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
need=()
command -v ip >/dev/null || need+=(iproute2)
command -v iperf3 >/dev/null || need+=(iperf3)
command -v tcpdump >/dev/null || need+=(tcpdump)
command -v ethtool >/dev/null || need+=(ethtool)
command -v ping >/dev/null || need+=(iputils-ping)
command -v gdb >/dev/null || need+=(gdb)
command -v python3 >/dev/null || need+=(python3)
command -v ps >/dev/null || need+=(procps)
if [ ${#need[@]} -gt 0 ]; then
	# Where no policy forbids it, installing a daemon starts it.
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
		chmod 755 /usr/sbin/policy-rc.d
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
	fi
	echo "installing: ${need[*]}"
	log=$(mktemp)
	install() { apt-get install -y -qq --no-install-recommends "${need[@]}" </dev/null >"$log" 2>&1; }
	install || { apt-get update -qq </dev/null >/dev/null && install; } || { tail -n 20 "$log" >&2; exit 1; }
	rm -f "$log"
fi
echo "here: $(iperf3 --version | head -n 1), $(tcpdump --version 2>&1 | head -n 1), $(ethtool --version), $(ip -V), $(gdb --version | head -n 1), $(python3 --version)"
