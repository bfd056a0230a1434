// Package slurm holds the bot against a real SLURM: jobs that really fail on a cluster of this machine alone. prepare.sh
// installs Debian's packages and starts nothing; the test behind the build tag "realslurm" starts munged, MariaDB,
// slurmdbd, slurmctld, twelve slurmd and slurmrestd on the loopback in a folder of its own, ends only what it started, and
// diagnoses the jobs with the built binary, or lets it watch the cluster and post into the Slack look-alike:
//
//	integration/slurm/prepare.sh && go test -tags realslurm -v ./integration/slurm
package slurm
