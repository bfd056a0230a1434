//go:build realslurm

package slurm

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

const clusterName = "ci"

// Ports, counted from the cluster's base.
const (
	portControl = iota
	portDBD
	portDB
	portRest
	portNodes
)

func (c *cluster) port(i int) int { return c.base + i }

// slurmConf is for SLURM 22.05 and later without cgroups or systemd. A short life of credentials is a short wait after a
// requeue; config_overrides because this machine is not what the nodes say they are.
const slurmConf = `ClusterName=%[2]s
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[1]s/munge/s,cred_expire=15
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=%[1]s/etc/jwt.key
CommunicationParameters=NoInAddrAny
SlurmctldPort=%[3]d
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool-%%n
SlurmctldPidFile=%[1]s/run/slurmctld.pid
SlurmdPidFile=%[1]s/run/%%n.pid
SlurmctldLogFile=%[1]s/log/slurmctld.log
SlurmdLogFile=%[1]s/log/%%n.log
SlurmdParameters=config_overrides
DebugFlags=NO_CONF_HASH
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_min_interval=100000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout=30
SlurmctldTimeout=10
KillWait=2
MinJobAge=3600
JobRequeue=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=%[4]d
AccountingStoragePass=%[1]s/munge/s
AccountingStoreFlags=job_comment,job_script
NodeName=node[01-%02[6]d] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[%[5]d-%[7]d] CPUs=32 RealMemory=4000 State=UNKNOWN
PartitionName=batch Nodes=%[8]s Default=YES MaxTime=60 State=UP
PartitionName=low Nodes=%[9]s MaxTime=60 State=UP PriorityTier=1
PartitionName=high Nodes=%[9]s MaxTime=60 State=UP PriorityTier=10 PreemptMode=off
PartitionName=doomed Nodes=%[10]s MaxTime=60 State=UP
PartitionName=het Nodes=%[11]s MaxTime=60 State=UP
`

const slurmdbdConf = `AuthType=auth/munge
AuthInfo=socket=%[1]s/munge/s
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=%[1]s/etc/jwt.key
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=%[2]d
CommunicationParameters=NoInAddrAny
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=%[3]d
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
LogFile=%[1]s/log/slurmdbd.log
PidFile=%[1]s/run/slurmdbd.pid
`

// lay makes the folders, keys and configuration files.
func (c *cluster) lay(t *testing.T) {
	t.Helper()
	munge, mysql := lookup(t, "munge"), lookup(t, "mysql")
	folder(t, c.dir, account{})
	for _, d := range []string{"etc", "state", "run", "log", "programs"} {
		folder(t, c.path(d), account{})
	}
	folder(t, c.work, c.user)
	folder(t, c.path("ready"), c.user)
	folder(t, c.path("munge"), munge)
	folder(t, c.path("db"), mysql)
	folder(t, c.path("db/data"), mysql)
	for i := 1; i <= nodes; i++ {
		folder(t, c.path("spool-"+nodeName(i)), account{})
	}
	secret := func(path string, mode os.FileMode, owner account) {
		key := make([]byte, 128)
		_, _ = rand.Read(key) // never fails
		write(t, path, string(key), mode)
		if err := os.Chown(path, int(owner.uid), int(owner.gid)); err != nil {
			t.Fatal(err)
		}
	}
	secret(c.path("munge/key"), 0o400, munge)
	secret(c.path("etc/jwt.key"), 0o600, account{})
	write(t, c.path("etc/cgroup.conf"), "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n", 0o644)
	write(t, c.path("etc/slurm.conf"), fmt.Sprintf(slurmConf, c.dir, clusterName, c.port(portControl), c.port(portDBD),
		c.port(portNodes), nodes, c.port(portNodes)+nodes-1, sharedSet, contested, doomedSet, hetSet), 0o644)
	write(t, c.path("etc/slurmdbd.conf"), fmt.Sprintf(slurmdbdConf, c.dir, c.port(portDBD), c.port(portDB)), 0o600)
	for _, name := range []string{"train.sh", "batch.sh", "onnode.sh"} {
		b, err := os.ReadFile(filepath.Join("programs", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, c.path("programs/"+name), string(b), 0o755)
	}
}

func folder(t *testing.T, path string, owner account) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, int(owner.uid), int(owner.gid)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
