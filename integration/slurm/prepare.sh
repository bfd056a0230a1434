#!/bin/bash
# Installs a real SLURM from Debian's packages, with accounting and its REST daemon. Starts nothing and enables nothing: the test
# starts its own daemons in a folder of its own, and this machine keeps whatever it had.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

need=()
for p in slurmctld slurmd slurmdbd slurmrestd slurm-client slurm-wlm-basic-plugins slurm-wlm-mysql-plugin slurm-wlm-jwt-plugin munge mariadb-server iproute2 ethtool; do
	dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || need+=("$p")
done
if [ ${#need[@]} -eq 0 ]; then
	echo "SLURM is installed: $(dpkg-query -W -f '${Version}' slurmctld)"
	exit 0
fi

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
if [ -d /run/systemd/system ]; then
	# On a machine with systemd the daemons would come up at its next start.
	for unit in slurmctld slurmd slurmdbd slurmrestd munge mariadb; do
		case " ${need[*]} " in *" $unit "* | *" $unit-server "*) systemctl disable -q "$unit" || true ;; esac
	done
fi
echo "SLURM is installed: $(dpkg-query -W -f '${Version}' slurmctld)"
