#!/bin/bash
# Installs OpenSSH's server from Debian's packages, and makes an ordinary account that only the tests log in to. Starts nothing and
# enables nothing: the tests start their own servers on the loopback, in a folder of their own.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
account=${FAULTLINE_TEST_ACCOUNT:-faultline-test}

if [ ! -x /usr/sbin/sshd ] || [ ! -x /usr/bin/ssh-agent ]; then
	# Where no policy forbids it, installing a daemon starts it.
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
		chmod 755 /usr/sbin/policy-rc.d
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
	fi
	echo "installing openssh-server"
	log=$(mktemp)
	install() { apt-get install -y -qq --no-install-recommends openssh-server openssh-client </dev/null >"$log" 2>&1; }
	install || { apt-get update -qq </dev/null >/dev/null && install; } || { tail -n 20 "$log" >&2; exit 1; }
	rm -f "$log"
	if [ -d /run/systemd/system ]; then systemctl disable -q ssh || true; fi
fi
# A password that nothing matches; without one the account counts as locked.
id "$account" >/dev/null 2>&1 || useradd --system --shell /bin/sh --home-dir /nonexistent --password '*' "$account"
mkdir -p /run/sshd # where the server separates its privileges
echo "OpenSSH is installed: $(ssh -V 2>&1)"
