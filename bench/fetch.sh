#!/bin/bash
# Compares what brings the logs of a job with the tools that a user would take, on the same files of this machine, one after the
# other, page cache warm: `sftp` from OpenSSH's server, `rclone` from an S3 server (where it is installed). Prints each round: wall
# s, processor s of the client, its peak kB; then the medians.
#
#   bench/fetch.sh [FILES [BYTES [ROUNDS]]]      2048 files of 2097152 bytes, 3 rounds
#
# Needs root, integration/sources/prepare.sh, and for S3 versitygw (.ci/run tools).
set -euo pipefail
cd "$(dirname "$0")/.."
files=${1:-2048} bytes=${2:-2097152} rounds=${3:-3}
account=${FAULTLINE_TEST_ACCOUNT:-faultline-test}
s3=${FAULTLINE_CACHE:-$HOME/.cache/faultline}/tools/versitygw-v1.8.0/versitygw
work=$(mktemp -d)
chmod 755 "$work"
pids=()
finish() {
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
	rm -rf "$work"
}
trap finish EXIT

go build -o "$work/fetch" ./bench/fetch
logs=$work/s3/bench/logs
mkdir -p "$logs"
chmod -R 755 "$work/s3"
# Bytes that no two files share: they would be kept once.
head -c $((files * bytes)) /dev/urandom | (cd "$logs" && split -b "$bytes" -a 5 -d - error-4242-)

port=$((20000 + RANDOM % 20000))
for k in host user; do ssh-keygen -q -t ed25519 -N '' -C "$k" -f "$work/$k"; done
mv "$work/user.pub" "$work/authorized_keys"
echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$work/host.pub")" >"$work/known"
cat >"$work/sshd.conf" <<-END
	ListenAddress 127.0.0.1
	Port $port
	HostKey $work/host
	PidFile none
	AuthorizedKeysFile $work/authorized_keys
	StrictModes no
	UsePAM no
	PasswordAuthentication no
	Subsystem sftp internal-sftp
END
/usr/sbin/sshd -D -f "$work/sshd.conf" -E "$work/sshd.log" &
pids+=($!)
export AWS_ACCESS_KEY_ID=bench AWS_SECRET_ACCESS_KEY=bench-secret
if [ -x "$s3" ]; then
	ROOT_ACCESS_KEY=bench ROOT_SECRET_KEY=bench-secret "$s3" --quiet --port "127.0.0.1:$((port + 1))" posix --nometa "$work/s3" >"$work/s3.log" 2>&1 &
	pids+=($!)
fi
sleep 2

# run NAME COMMAND...: a line "NAME wall processor peak-kB". What was brought is removed again.
run() {
	local name=$1
	shift
	mkdir -p "$work/out"
	/usr/bin/time -o "$work/time" -f "%e %U %S %M" "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2; return 1; }
	local n
	n=$(find "$work/out" -type f -size +$((bytes / 1024 - 1))k | wc -l)
	[ "$n" -ge "$files" ] || { echo "$name brought $n of $files files" >&2; return 1; }
	tail -n 1 "$work/time" | awk -v n="$name" '{printf "%-12s %.2f %.2f %d\n", n, $1, $2 + $3, $4}' | tee -a "$work/rounds"
	rm -rf "$work/out"
}

echo "get -r $logs $work/out" >"$work/batch"
for ((i = 0; i < rounds; i++)); do
	cat "$logs"/* >/dev/null
	run sftp sftp -q -b "$work/batch" -P "$port" -i "$work/user" -o UserKnownHostsFile="$work/known" -o IdentitiesOnly=yes "$account@127.0.0.1"
	run fetch/sftp "$work/fetch" -sftp "127.0.0.1:$port" -user "$account" -key "$work/user" -known "$work/known" -folder "$logs" -spool "$work/out"
	if [ -x "$s3" ]; then
		! command -v rclone >/dev/null || run rclone env -u AWS_CA_BUNDLE rclone copy --config /dev/null --s3-provider Other --s3-env-auth \
			--s3-endpoint "http://127.0.0.1:$((port + 1))" --transfers 8 :s3:bench/logs "$work/out"
		run fetch/s3 "$work/fetch" -s3 "http://127.0.0.1:$((port + 1))" -bucket bench -folder logs -spool "$work/out"
	fi
done
echo "median: wall s, processor s, peak kB"
for n in $(cut -d' ' -f1 "$work/rounds" | sort -u); do
	grep "^$n " "$work/rounds" | sort -k2 -n | awk '{l[NR]=$0} END {print l[int((NR+1)/2)]}'
done
