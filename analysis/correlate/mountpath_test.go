package correlate

import (
	"testing"

	"faultline/analysis/aislog"
)

func TestAMountpathIsNamedWhereTheRecordsAgreeOnOne(t *testing.T) {
	const waking = `t[EnYG]: waking up FSHC to check mp[/ais/nvme0n1, nvme0n1, "l1", nvme], err: input/output error`
	for _, c := range []struct {
		name, want, device string
		records            []string
	}{
		{"one record names it", "mountpath /ais/nvme0n1", "nvme0n1", []string{waking, "PathError: read /ais/nvme0n1/@ais/x: input/output error"}},
		{"two name the same", "mountpath /ais/nvme0n1", "nvme0n1", []string{waking, "disabled mountpath mp[/ais/nvme0n1, nvme0n1, nvme]"}},
		{"two name different ones", "a disk or mountpath", "", []string{waking, "disabled mountpath mp[/ais/sdb, sdb]"}},
		{"none names one", "a disk or mountpath", "", []string{"PathError: input/output error"}},
		{"what is no path", "a disk or mountpath", "", []string{"disabled mountpath mp[<@U1>, sdb]", "disabled mountpath mp[/ais/sdb"}},
		{"of several devices", "mountpath /ais/a", "", []string{"disabled mountpath mp[/ais/a, [sdb sdc], hdd]"}},
		{"of a file system", "mountpath /ais/a", "", []string{"disabled mountpath mp[/ais/a, fs=/dev/md0]"}},
		{"of one device alone", "mountpath /ais/sdb", "sdb", []string{"disabled mountpath mp[/ais/sdb, sdb]"}},
	} {
		x := &trouble{points: []point{{n: 3}}}
		for _, text := range c.records {
			x.points = append(x.points, point{event: &aislog.Event{Text: text}})
		}
		if got := x.disk(); got.named() != c.want || got.Device != c.device {
			t.Errorf("%s: got %+v, want %q, %q", c.name, got, c.want, c.device)
		}
	}
}
