#!/bin/bash
# Runs a command as if its node were a machine of its own: in the network that the test made for it, with its own /etc/hosts, and
# after what the test has broken there.
#
#   srun onnode.sh COMMAND…      NETS is the folder, and the prefix of the networks
exec ip netns exec "$(basename "$NETS")-$SLURMD_NODENAME" bash -c '
	mount --bind "$NETS/$SLURMD_NODENAME.hosts" /etc/hosts
	. "$NETS/$SLURMD_NODENAME.sh"
	exec "${AS[@]}" "$@"' onnode "$@"
